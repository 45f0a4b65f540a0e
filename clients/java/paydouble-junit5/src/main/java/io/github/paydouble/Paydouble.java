package io.github.paydouble;

import com.fasterxml.jackson.databind.JsonNode;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.stream.Collectors;

/** A paydouble server. Closing it stops it, if this client has started it. */
public final class Paydouble implements AutoCloseable {
  private final Control control;
  private final String receiverHost;
  private final Runnable onClose;

  private Paydouble(Builder builder) {
    this.control = new Control(builder.url, builder.token);
    this.receiverHost = builder.receiverHost;
    this.onClose = builder.onClose;
  }

  /**
   * Returns a server: the one at {@code PAYDOUBLE_URL}; else one in a container, if {@code
   * paydouble-testcontainers} is on the class path and Docker runs; else a new process of the
   * command {@code paydouble} on the {@code PATH}, which ends with this one.
   *
   * <p>{@code PAYDOUBLE_CONTROL_TOKEN} is the token of its control API. {@code
   * PAYDOUBLE_RECEIVER_HOST} is the name of this machine for a server in a container, such as
   * {@code host.docker.internal}.
   *
   * @return the server
   * @throws PaydoubleException when there is none; the message says what to do
   */
  public static Paydouble start() {
    return ServerFinder.find(
        System.getenv(), ServiceLoader.load(ServerProvider.class), "paydouble");
  }

  /**
   * Returns a server that runs already. Nothing is sent yet.
   *
   * @param url its address, such as {@code http://localhost:8080}
   * @return the server
   */
  public static Paydouble connect(String url) {
    return at(Control.parse(url)).connect();
  }

  /**
   * Begins the description of a server that runs already.
   *
   * @param url its address, such as {@code http://localhost:8080}
   * @return the description
   */
  public static Builder at(URI url) {
    return new Builder(url);
  }

  /** {@return its address} */
  public URI url() {
    return control.url();
  }

  /**
   * Makes a sandbox; the server chooses everything.
   *
   * @return the sandbox, which the caller closes
   */
  public Sandbox sandbox() {
    return sandbox(SandboxOptions.options());
  }

  /**
   * Makes a sandbox.
   *
   * @param options what it is like
   * @return the sandbox, which the caller closes
   */
  public Sandbox sandbox(SandboxOptions options) {
    return new Sandbox(
        control, control.call(SandboxState.class, "POST", "/sandboxes", options.members()));
  }

  /**
   * Returns an existing sandbox.
   *
   * @param id its id, such as {@code default}
   * @return the sandbox
   */
  public Sandbox find(String id) {
    String path = "/sandboxes/" + Control.segment(id);
    return new Sandbox(control, control.call(SandboxState.class, "GET", path, null));
  }

  /** {@return all sandboxes} */
  public List<Sandbox> sandboxes() {
    return sandboxes(Map.of());
  }

  /**
   * Returns the sandboxes with these labels.
   *
   * @param labels names and values
   * @return the sandboxes
   */
  public List<Sandbox> sandboxes(Map<String, String> labels) {
    String label =
        labels.entrySet().stream()
            .map(each -> each.getKey() + ":" + each.getValue())
            .sorted()
            .collect(Collectors.joining(","));
    Map<String, String> query = label.isEmpty() ? Map.of() : Map.of("label", label);
    return control.list(SandboxState.class, "/sandboxes", query).stream()
        .map(state -> new Sandbox(control, state))
        .toList();
  }

  /** {@return the newest requests with an unknown business key, or with none} */
  public List<RecordedRequest> unclaimedRequests() {
    return control.list(RecordedRequest.class, "/unclaimed-requests", Map.of());
  }

  /** {@return its health} */
  public Health health() {
    return control.call(Health.class, "GET", "/health", null);
  }

  /**
   * Starts a receiver of a sandbox's webhooks that the server can reach, and sends them there.
   *
   * @param sandbox a sandbox of this server
   * @return the receiver, which the caller closes
   */
  public WebhookReceiver receiver(Sandbox sandbox) {
    WebhookReceiver.Builder builder = WebhookReceiver.with(sandbox.webhookSecret());
    if (receiverHost != null) {
      builder.reachableAs(receiverHost);
    }
    WebhookReceiver receiver = builder.start();
    try {
      sandbox.webhook().change(receiver.url());
    } catch (PaydoubleException e) {
      receiver.close();
      throw e;
    }
    return receiver;
  }

  /**
   * Makes a control call that has no method here.
   *
   * @param method the HTTP method
   * @param path the path below {@code /_paydouble}, such as {@code /sandboxes}
   * @param body the body, as for {@link Spec#with}; null for none
   * @return the answer
   */
  public JsonNode call(String method, String path, Object body) {
    return control.call(method, path, body);
  }

  /** Stops the server, if this client has started it. */
  @Override
  public void close() {
    onClose.run();
  }

  @Override
  public String toString() {
    return "paydouble at " + url();
  }

  /** The description of a server that runs already. */
  public static final class Builder {
    private final URI url;
    private String token;
    private String receiverHost;
    private Runnable onClose = () -> {};

    private Builder(URI url) {
      this.url = url;
    }

    /**
     * Sets the token of the control API.
     *
     * @param token the token; null for none
     * @return this
     */
    public Builder token(String token) {
      this.token = token;
      return this;
    }

    /**
     * Sets by which name the server reaches this machine, for a server in a container.
     *
     * @param host such as {@code host.docker.internal}; null for a server on this machine
     * @return this
     */
    public Builder receiverHost(String host) {
      this.receiverHost = host;
      return this;
    }

    /**
     * Sets what stops the server.
     *
     * @param onClose called when the server is closed
     * @return this
     */
    public Builder onClose(Runnable onClose) {
      this.onClose = onClose;
      return this;
    }

    /**
     * Returns the server. Nothing is sent yet.
     *
     * @return the server
     */
    public Paydouble connect() {
      return new Paydouble(this);
    }
  }
}
