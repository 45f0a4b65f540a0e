package io.github.paydouble;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Map;

/**
 * An isolated business of a server: with its own credentials, clock, faults and journals. Closing
 * it deletes it.
 */
public final class Sandbox implements AutoCloseable {
  private static final int NOT_FOUND = 404;

  private final Control control;
  private final String path;
  private final SandboxState state;

  Sandbox(Control control, SandboxState state) {
    this.control = control;
    this.state = state;
    this.path = "/sandboxes/" + Control.segment(state.id());
  }

  /** {@return its id} */
  public String id() {
    return state.id();
  }

  /** {@return the URL of the API, which ends with {@code /api/v1}} */
  public URI baseUrl() {
    return state.baseUrl();
  }

  /** {@return the business key, which the code under test sends as the user of Basic auth} */
  public String businessKey() {
    return state.businessKey();
  }

  /** {@return the business secret, which the code under test sends as the password} */
  public String businessSecret() {
    return state.businessSecret();
  }

  /** {@return the value of the Authorization header with the business key and secret} */
  public String authorization() {
    String credentials = businessKey() + ":" + businessSecret();
    byte[] bytes = credentials.getBytes(StandardCharsets.UTF_8);
    return "Basic " + Base64.getEncoder().encodeToString(bytes);
  }

  /** {@return the secret that signs its webhooks, unless a test has changed it} */
  public String webhookSecret() {
    return state.webhookSecret();
  }

  /** {@return the seed of its identifiers and random values} */
  public long seed() {
    return state.seed();
  }

  /** {@return its clock} */
  public Clock clock() {
    return new Clock(control, path + "/clock");
  }

  /** {@return what goes wrong on purpose} */
  public Faults faults() {
    return new Faults(control, path + "/faults");
  }

  /** {@return its rate limit} */
  public RateLimit rateLimit() {
    return new RateLimit(control, path + "/rate-limit");
  }

  /** {@return the requests that it has got} */
  public Requests requests() {
    return new Requests(control, path + "/requests");
  }

  /** {@return its events} */
  public Events events() {
    return new Events(control, path + "/events");
  }

  /** {@return the deliveries of its events} */
  public Deliveries deliveries() {
    return new Deliveries(control, path + "/deliveries");
  }

  /** {@return the scenarios that its pay-ins play} */
  public Scenarios scenarios() {
    return new Scenarios(control, path + "/scenarios");
  }

  /** {@return the target of its events, and their secret} */
  public Webhook webhook() {
    return new Webhook(control, path + "/webhook");
  }

  /** {@return its pay-ins} */
  public PayIns payIns() {
    return new PayIns(control, path + "/pay-ins");
  }

  /** {@return its refunds} */
  public Resources refunds() {
    return new Resources(control, path + "/refunds");
  }

  /** {@return its disputes} */
  public Resources disputes() {
    return new Resources(control, path + "/disputes");
  }

  /** {@return its payouts} */
  public Resources payouts() {
    return new Resources(control, path + "/payouts");
  }

  /**
   * Returns the payer of a pay-in, whose scenario waits for the payer.
   *
   * @param payInId the id of the pay-in
   * @return the payer
   */
  public Payer payer(String payInId) {
    return new Payer(control, path + "/pay-ins/" + Control.segment(payInId) + "/payer");
  }

  /** {@return the sandbox as it is now} */
  public SandboxState read() {
    return control.call(SandboxState.class, "GET", path, null);
  }

  /**
   * Changes the target of events, the default scenario, settings, the ttl or labels.
   *
   * @param options what to change; settings are laid over the present ones
   * @return the sandbox as it is now
   */
  public SandboxState change(SandboxOptions options) {
    return control.call(SandboxState.class, "PATCH", path, options.members());
  }

  /**
   * Resets all of the sandbox, or parts of it, and cancels their pending work. New ids are used
   * after that.
   *
   * @param scope the parts: {@code state}, {@code faults}, {@code requests}, {@code deliveries},
   *     {@code clock}, {@code scenarios}; none for all
   * @return how much of each was removed
   */
  public JsonNode reset(String... scope) {
    return reset(scope.length == 0 ? Map.of() : Map.of("scope", List.of(scope)));
  }

  /**
   * Resets all of the sandbox, so that the same ids are used again.
   *
   * @return how much of each was removed
   */
  public JsonNode resetWithSameIds() {
    return reset(Map.of("same_ids", true));
  }

  private JsonNode reset(Map<String, ?> body) {
    return control.call("POST", path + "/reset", body).path("removed");
  }

  /**
   * Keeps the sandbox as it is now, for {@link #fork(String, SandboxOptions)}.
   *
   * @return the id of the checkpoint
   */
  public String checkpoint() {
    return control.call("POST", path + "/checkpoint", Map.of()).path("id").asText();
  }

  /**
   * Makes a sandbox that goes on from where this one is now.
   *
   * @return the new sandbox, which the caller closes
   */
  public Sandbox fork() {
    return fork(Map.of());
  }

  /**
   * Makes a sandbox that goes on from where this one was.
   *
   * @param checkpoint the id of a checkpoint
   * @param options the id, credentials and target of the new sandbox
   * @return the new sandbox, which the caller closes
   */
  public Sandbox fork(String checkpoint, SandboxOptions options) {
    return fork(Spec.added(options.members(), "checkpoint", checkpoint));
  }

  private Sandbox fork(Map<String, ?> body) {
    return new Sandbox(control, control.call(SandboxState.class, "POST", path + "/fork", body));
  }

  /**
   * Writes the run of the sandbox to a file, for {@code paydouble replay} and {@code show}.
   * Personal data is replaced.
   *
   * @param file the file, whose name ends with {@code .paydouble}
   * @throws IOException when it cannot be written
   */
  public void export(Path file) throws IOException {
    Files.writeString(file, exportText(false));
  }

  /**
   * Returns the lines of the file that {@link #export} writes.
   *
   * @param raw whether personal data is kept
   * @return the lines
   */
  public String exportText(boolean raw) {
    return control.text("POST", path + "/export", Map.of("raw", raw));
  }

  /**
   * Makes a control call about this sandbox that has no method here.
   *
   * @param method the HTTP method
   * @param below the path below the sandbox's own, such as {@code /clock}
   * @param body the body, as for {@link Spec#with}; null for none
   * @return the answer
   */
  public JsonNode call(String method, String below, Object body) {
    return control.call(method, path + below, body);
  }

  /**
   * Returns what has happened: requests, events and delivery attempts in their order, and what
   * became of the faults.
   *
   * @return one line for each
   */
  public String timeline() {
    return Timeline.of(this);
  }

  /**
   * Deletes the sandbox, and cancels its pending work.
   *
   * @throws ControlRefusedException when it has been deleted before; {@link #close} accepts that
   */
  public void delete() {
    control.call("DELETE", path);
  }

  /** Deletes the sandbox, unless that was done before. */
  @Override
  public void close() {
    try {
      delete();
    } catch (ControlRefusedException e) {
      if (e.status() != NOT_FOUND) {
        throw e;
      }
    }
  }

  @Override
  public String toString() {
    return "sandbox %s at %s".formatted(id(), control.url());
  }
}
