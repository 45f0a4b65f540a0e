package io.github.paydouble;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Instant;
import java.util.List;

/**
 * A webhook as a {@link WebhookReceiver} got it, and what it answered.
 *
 * @param at when it came, in real time
 * @param path the path of the request
 * @param headers the headers
 * @param body the exact bytes
 * @param answered the status that it was answered with
 * @param error why its signature does not verify; null when it does
 * @param attempt how often this event has come, this time included; 0 when it does not verify
 * @param duplicate whether this event had been answered with 2xx before
 */
public record ReceivedWebhook(
    Instant at,
    String path,
    List<Header> headers,
    Body body,
    int answered,
    String error,
    int attempt,
    boolean duplicate) {

  /** {@return whether the signature verifies} */
  public boolean verified() {
    return error == null;
  }

  /**
   * Returns the value of a header.
   *
   * @param name its name, in any case
   * @return the first value; null without one
   */
  public String header(String name) {
    return headers.stream()
        .filter(each -> each.name().equalsIgnoreCase(name))
        .map(Header::value)
        .findFirst()
        .orElse(null);
  }

  /** {@return the event as JSON; a missing node when the body is not JSON} */
  public JsonNode event() {
    return body.json();
  }

  /** {@return the type of the event, such as {@code pay-in.succeeded}; else empty} */
  public String type() {
    return event().path("type").asText();
  }
}
