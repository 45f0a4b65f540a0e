package io.github.paydouble;

import com.fasterxml.jackson.databind.JsonNode;
import java.net.URI;
import java.time.Duration;
import java.util.Map;

/** What a new sandbox is like, or how one is changed. The server chooses what is left out. */
public final class SandboxOptions extends Spec<SandboxOptions> {
  private SandboxOptions(Map<String, Object> members) {
    super(members);
  }

  /** {@return options of which none is set} */
  public static SandboxOptions options() {
    return new SandboxOptions(Map.of());
  }

  /**
   * Sets the id.
   *
   * @param id the id; the server makes one otherwise
   * @return a copy with this member
   */
  public SandboxOptions id(String id) {
    return with("id", id);
  }

  /**
   * Sets the seed of every identifier and random value.
   *
   * @param seed the seed
   * @return a copy with this member
   */
  public SandboxOptions seed(long seed) {
    return with("seed", seed);
  }

  /**
   * Sets how time passes.
   *
   * @param mode the mode
   * @return a copy with this member
   */
  public SandboxOptions clock(ClockMode mode) {
    return with("clock", mode);
  }

  /**
   * Sets how time passes, where it begins, and at which rate.
   *
   * @param clock the clock
   * @return a copy with this member
   */
  public SandboxOptions clock(ClockSpec clock) {
    return with("clock", clock.members());
  }

  /**
   * Sets where events go.
   *
   * @param url the URL; null for nowhere
   * @return a copy with this member
   */
  public SandboxOptions notificationUrl(URI url) {
    return with("notification_url", url);
  }

  /**
   * Sets the default scenario.
   *
   * @param name its name
   * @return a copy with this member
   */
  public SandboxOptions scenario(String name) {
    return with("scenario", name);
  }

  /**
   * Sets settings, by their names in the settings reference.
   *
   * @param settings the settings; those of a group are a map in the map
   * @return a copy with this member
   */
  public SandboxOptions settings(Map<String, ?> settings) {
    return with("settings", settings);
  }

  /**
   * Sets settings, by their names in the settings reference.
   *
   * @param json the settings as a JSON object
   * @return a copy with this member
   */
  public SandboxOptions settings(String json) {
    JsonNode settings = Json.read(json);
    if (!settings.isObject()) {
      throw new PaydoubleException("these settings are not a JSON object: " + json);
    }
    return with("settings", settings);
  }

  /**
   * Sets the business key.
   *
   * @param key the key
   * @return a copy with this member
   */
  public SandboxOptions businessKey(String key) {
    return with("business_key", key);
  }

  /**
   * Sets the business secret.
   *
   * @param secret the secret
   * @return a copy with this member
   */
  public SandboxOptions businessSecret(String secret) {
    return with("business_secret", secret);
  }

  /**
   * Sets the secret that signs webhooks.
   *
   * @param secret the secret
   * @return a copy with this member
   */
  public SandboxOptions webhookSecret(String secret) {
    return with("webhook_secret", secret);
  }

  /**
   * Sets a lease: the server deletes the sandbox when nobody has used it for so long.
   *
   * @param ttl how long, in real time; null for no lease
   * @return a copy with this member
   */
  public SandboxOptions ttl(Duration ttl) {
    return with("ttl", ttl);
  }

  /**
   * Sets the labels, for {@link Paydouble#sandboxes(Map)}.
   *
   * @param labels names and values, such as that of a job
   * @return a copy with this member
   */
  public SandboxOptions labels(Map<String, String> labels) {
    return with("labels", labels);
  }

  @Override
  SandboxOptions copy(Map<String, Object> members) {
    return new SandboxOptions(members);
  }
}
