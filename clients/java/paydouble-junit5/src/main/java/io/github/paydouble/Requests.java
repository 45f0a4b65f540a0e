package io.github.paydouble;

/** The requests of the API that a sandbox has got. */
public final class Requests extends Journal<RequestMatch, RecordedRequest> {
  Requests(Control control, String path) {
    super(control, path, "requests", RecordedRequest.class);
  }

  /**
   * Removes all requests from the journal.
   *
   * @return how many there were
   */
  public int clear() {
    return control.call("DELETE", path).path("removed").asInt();
  }
}
