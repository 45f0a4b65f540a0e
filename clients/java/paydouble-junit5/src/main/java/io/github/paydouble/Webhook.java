package io.github.paydouble;

import java.net.URI;
import java.time.Duration;
import java.util.Map;

/** Where the events of a sandbox go, and what signs them. */
public final class Webhook {
  private final Control control;
  private final String path;

  Webhook(Control control, String path) {
    this.control = control;
    this.path = path;
  }

  /** {@return target and secrets} */
  public WebhookState read() {
    return control.call(WebhookState.class, "GET", path, null);
  }

  /**
   * Changes the target of events.
   *
   * @param notificationUrl where they go; null for nowhere
   * @return target and secrets as they are now
   */
  public WebhookState change(URI notificationUrl) {
    return change(Spec.added(Map.of(), "notification_url", notificationUrl));
  }

  /**
   * Changes the target of events and the secret, which is valid alone at once.
   *
   * @param notificationUrl where they go; null for nowhere
   * @param secret the new secret
   * @return target and secrets as they are now
   */
  public WebhookState change(URI notificationUrl, String secret) {
    return change(Spec.added(Map.of("secret", secret), "notification_url", notificationUrl));
  }

  /**
   * Changes the secret, which is valid alone at once.
   *
   * @param secret the new secret
   * @return target and secrets as they are now
   */
  public WebhookState changeSecret(String secret) {
    return change(Map.of("secret", secret));
  }

  private WebhookState change(Map<String, Object> body) {
    return control.call(WebhookState.class, "PATCH", path, body);
  }

  /**
   * Makes a new secret, which is valid alone at once.
   *
   * @return target and secrets as they are now
   */
  public WebhookState rotateSecret() {
    return rotateSecret(Duration.ZERO);
  }

  /**
   * Makes a new secret.
   *
   * @param grace how long the old one signs too
   * @return target and secrets as they are now
   */
  public WebhookState rotateSecret(Duration grace) {
    return control.call(
        WebhookState.class, "POST", path + "/rotate-secret", Map.of("grace", grace));
  }

  /**
   * Sends a sample event {@code pay-in.succeeded}.
   *
   * @return the event, whose object exists in it alone
   */
  public Event test() {
    return test("pay-in.succeeded");
  }

  /**
   * Sends a sample event.
   *
   * @param type any documented type
   * @return the event, whose object exists in it alone
   */
  public Event test(String type) {
    return control.call(Event.class, "POST", path + "/test", Map.of("type", type));
  }
}
