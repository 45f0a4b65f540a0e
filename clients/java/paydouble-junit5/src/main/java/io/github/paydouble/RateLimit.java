package io.github.paydouble;

import com.fasterxml.jackson.databind.JsonNode;

/** The rate limit of a sandbox. For a single 429 there is {@link Fault#rateLimit}. */
public final class RateLimit {
  private final Control control;
  private final String path;

  RateLimit(Control control, String path) {
    this.control = control;
    this.path = path;
  }

  /**
   * Sets the rate limit; its first window begins unused.
   *
   * @param quota the quota
   * @return the rate limit as the control API shows it
   */
  public JsonNode set(Quota quota) {
    return control.call("PUT", path, quota.members());
  }

  /** Removes the rate limit. */
  public void clear() {
    control.call("DELETE", path);
  }
}
