package io.github.paydouble;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Predicate;
import java.util.function.ToIntFunction;

/**
 * Receives webhooks at a port of its own, verifies them, keeps their bytes, and answers as a test
 * says: with 200 unless told otherwise. What does not verify is answered 400 or 401.
 */
public final class WebhookReceiver implements AutoCloseable {
  private static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(5);
  private static final int METHOD_NOT_ALLOWED = 405;
  private static final int SERVER_ERROR = 500;

  private final String bindHost;
  private final URI url;
  private final ExecutorService threads =
      Executors.newCachedThreadPool(
          task -> {
            Thread thread = new Thread(task, "paydouble-webhook-receiver");
            thread.setDaemon(true);
            return thread;
          });

  // All below are guarded by this object.
  private String secret;
  private final List<ReceivedWebhook> received = new ArrayList<>();
  private final Queue<Integer> nextAnswers = new ArrayDeque<>();
  private final Map<String, Integer> timesSeen = new HashMap<>();
  private final Set<String> taken = new HashSet<>();
  private ToIntFunction<ReceivedWebhook> handler = webhook -> 200;
  private Duration delay = Duration.ZERO;
  private HttpServer server;
  private Socket reservation;

  private WebhookReceiver(Builder builder) {
    this.secret = WebhookSignature.checked(builder.secret);
    this.bindHost = builder.bindHost;
    this.server = listen(builder.port);
    int port = server.getAddress().getPort();
    this.url = URI.create("http://%s:%d/".formatted(builder.urlHost, port));
  }

  /**
   * Begins the description of a receiver.
   *
   * @param secret the webhook secret to verify with
   * @return the description
   */
  public static Builder with(String secret) {
    return new Builder(secret);
  }

  /** {@return the URL to deliver to} */
  public URI url() {
    return url;
  }

  /** {@return what has come so far, oldest first, with what does not verify} */
  public synchronized List<ReceivedWebhook> received() {
    return List.copyOf(received);
  }

  /** {@return the types of the verified events so far, oldest first} */
  public List<String> types() {
    return received().stream()
        .filter(ReceivedWebhook::verified)
        .map(ReceivedWebhook::type)
        .toList();
  }

  /**
   * Waits until a number of webhooks have come, for at most 5 s.
   *
   * @param count the number
   * @return all that have come
   * @throws AssertionError when they do not come in time
   */
  public List<ReceivedWebhook> await(int count) {
    return await("%d webhooks".formatted(count), all -> all.size() >= count, DEFAULT_TIMEOUT);
  }

  /**
   * Waits until a webhook has come that a predicate accepts.
   *
   * @param wanted the predicate
   * @param timeout how long to wait, in real time
   * @return all that have come
   * @throws AssertionError when it does not come in time
   */
  public List<ReceivedWebhook> await(Predicate<ReceivedWebhook> wanted, Duration timeout) {
    return await(
        "a webhook that the predicate accepts", all -> all.stream().anyMatch(wanted), timeout);
  }

  private synchronized List<ReceivedWebhook> await(
      String what, Predicate<List<ReceivedWebhook>> enough, Duration timeout) {
    long end = System.nanoTime() + timeout.toNanos();
    while (!enough.test(received)) {
      long rest = Duration.ofNanos(end - System.nanoTime()).toMillis();
      if (rest <= 0) {
        StringBuilder message = new StringBuilder("expected ").append(what);
        message.append(
            " at %s within %s, got %d".formatted(url, Json.format(timeout), received.size()));
        for (ReceivedWebhook each : received) {
          message.append(
              "\n  %s, attempt %d: answered %d%s"
                  .formatted(
                      each.type(),
                      each.attempt(),
                      each.answered(),
                      each.verified() ? "" : ", " + each.error()));
        }
        if (received.isEmpty()) {
          message.append("\n  is this the sandbox's target, and has its clock been advanced?");
        }
        throw new AssertionError(message.toString());
      }
      try {
        wait(rest);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new PaydoubleException("interrupted while waiting for webhooks", e);
      }
    }
    return List.copyOf(received);
  }

  /**
   * Answers the next verified webhooks with these statuses, each once and in order.
   *
   * @param statuses the statuses
   */
  public synchronized void answerNext(int... statuses) {
    for (int status : statuses) {
      nextAnswers.add(status);
    }
  }

  /**
   * Answers the next verified webhooks with 500.
   *
   * @param times how many
   */
  public void failNext(int times) {
    failNext(times, SERVER_ERROR);
  }

  /**
   * Answers the next verified webhooks with a status.
   *
   * @param times how many
   * @param status the status
   */
  public void failNext(int times, int status) {
    for (int time = 0; time < times; time++) {
      answerNext(status);
    }
  }

  /**
   * Answers verified webhooks with what a function returns: a status. 500 when it throws.
   *
   * @param handler the function, such as the webhook endpoint of the code under test
   */
  public synchronized void handle(ToIntFunction<ReceivedWebhook> handler) {
    this.handler = handler;
  }

  /**
   * Waits before each answer.
   *
   * @param delay how long, in real time
   */
  public synchronized void slow(Duration delay) {
    this.delay = delay;
  }

  /**
   * Verifies with another secret from now on, after a rotation.
   *
   * @param secret the new webhook secret
   */
  public synchronized void verifyWith(String secret) {
    this.secret = WebhookSignature.checked(secret);
  }

  /** Removes what has come; the ids of events stay known. */
  public synchronized void clear() {
    received.clear();
  }

  /** Refuses every connection until {@link #up}; the port stays taken. */
  public synchronized void down() {
    if (server != null) {
      server.stop(0);
      server = null;
      reservation = reserve(url.getPort());
    }
  }

  /** Listens again, at the same port. */
  public synchronized void up() {
    if (server == null) {
      free();
      server = listen(url.getPort());
    }
  }

  /** Stops for good. */
  @Override
  public synchronized void close() {
    if (server != null) {
      server.stop(0);
      server = null;
    }
    free();
    threads.shutdownNow();
  }

  /**
   * Binds a socket that never listens, as soon as no socket listens at the port. A process that
   * this one starts has a copy of every socket for a moment, of the one that listened as well.
   */
  private Socket reserve(int port) {
    long end = System.nanoTime() + DEFAULT_TIMEOUT.toNanos();
    while (true) {
      // One that could not be bound is closed already.
      Socket bound = new Socket();
      try {
        bound.setReuseAddress(true);
        bound.bind(new InetSocketAddress(bindHost, port));
        return bound;
      } catch (IOException e) {
        if (System.nanoTime() > end) {
          throw new PaydoubleException(
              "the webhook receiver cannot keep %s:%d while it is down (%s)"
                  .formatted(bindHost, port, e.getMessage()),
              e);
        }
      }
      try {
        Thread.sleep(1);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new PaydoubleException("interrupted while the webhook receiver goes down", e);
      }
    }
  }

  private void free() {
    if (reservation != null) {
      try {
        reservation.close();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      reservation = null;
    }
  }

  private HttpServer listen(int port) {
    try {
      HttpServer made = HttpServer.create(new InetSocketAddress(bindHost, port), 0);
      made.setExecutor(threads);
      made.createContext("/", this::answer);
      made.start();
      return made;
    } catch (IOException e) {
      throw new PaydoubleException(
          "the webhook receiver cannot listen at %s:%d (%s)"
              .formatted(bindHost, port, e.getMessage()),
          e);
    }
  }

  private void answer(HttpExchange exchange) throws IOException {
    try (exchange) {
      if (!exchange.getRequestMethod().equals("POST")) {
        exchange.sendResponseHeaders(METHOD_NOT_ALLOWED, -1);
        return;
      }
      byte[] body = exchange.getRequestBody().readAllBytes();
      int status = judge(exchange, body);
      Duration pause;
      synchronized (this) {
        pause = delay;
      }
      if (!pause.isZero()) {
        Thread.sleep(pause.toMillis());
      }
      exchange.sendResponseHeaders(status, -1);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private int judge(HttpExchange exchange, byte[] body) {
    Instant now = Instant.now();
    String path = exchange.getRequestURI().getPath();
    List<Header> headers = new ArrayList<>();
    exchange
        .getRequestHeaders()
        .forEach((name, values) -> values.forEach(value -> headers.add(new Header(name, value))));
    String signature = exchange.getRequestHeaders().getFirst(WebhookSignature.HEADER);
    String present;
    synchronized (this) {
      present = secret;
    }
    try {
      WebhookSignature.verify(body, signature, present, now);
    } catch (WebhookSignatureException e) {
      int status = e.recommendedStatus();
      return keep(
          new ReceivedWebhook(
              now, path, headers, new Body(body), status, e.getMessage(), 0, false));
    }
    Body exact = new Body(body);
    String id = exact.json().path("id").textValue();
    ReceivedWebhook webhook;
    ToIntFunction<ReceivedWebhook> decide;
    Integer next;
    synchronized (this) {
      // What is signed and no event has no id.
      int attempt = id == null ? 1 : timesSeen.merge(id, 1, Integer::sum);
      boolean duplicate = id != null && taken.contains(id);
      webhook = new ReceivedWebhook(now, path, headers, exact, 0, null, attempt, duplicate);
      next = nextAnswers.poll();
      decide = handler;
    }
    int status;
    try {
      // Outside of the lock: it may take long, or call the server.
      status = next != null ? next : decide.applyAsInt(webhook);
    } catch (RuntimeException | AssertionError e) {
      System.getLogger(WebhookReceiver.class.getName())
          .log(System.Logger.Level.ERROR, "the webhook handler has failed; 500 is answered", e);
      status = SERVER_ERROR;
    }
    return keep(
        new ReceivedWebhook(
            now, path, headers, exact, status, null, webhook.attempt(), webhook.duplicate()));
  }

  private synchronized int keep(ReceivedWebhook webhook) {
    if (webhook.verified() && webhook.answered() / 100 == 2) {
      taken.add(webhook.event().path("id").asText());
    }
    received.add(webhook);
    notifyAll();
    return webhook.answered();
  }

  /** The description of a receiver. */
  public static final class Builder {
    private final String secret;
    private String bindHost = "127.0.0.1";
    private String urlHost = "127.0.0.1";
    private int port;

    private Builder(String secret) {
      this.secret = secret;
    }

    /**
     * Listens at all addresses of this machine, for a server that is not on it.
     *
     * @param host the name by which the server reaches this machine, such as {@code
     *     host.docker.internal}
     * @return this
     */
    public Builder reachableAs(String host) {
      this.bindHost = "0.0.0.0";
      this.urlHost = host;
      return this;
    }

    /**
     * Sets the port.
     *
     * @param port the port; 0, the default, for a free one
     * @return this
     */
    public Builder port(int port) {
      this.port = port;
      return this;
    }

    /**
     * Starts the receiver.
     *
     * @return the receiver, which the caller closes
     */
    public WebhookReceiver start() {
      return new WebhookReceiver(this);
    }
  }
}
