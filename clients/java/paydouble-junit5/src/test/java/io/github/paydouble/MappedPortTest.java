package io.github.paydouble;

import static io.github.paydouble.SandboxOptions.options;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.github.paydouble.junit5.PaydoubleTest;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Reaches the server at another port than its own, as with a container's. */
class MappedPortTest {
  @PaydoubleTest
  void aServerBehindAMappedPortNeedsNoConfiguration(Paydouble server) throws Exception {
    try (PortMapping mapping = new PortMapping(server.url());
        Paydouble mapped = Paydouble.at(mapping.url()).connect();
        Sandbox sandbox = mapped.sandbox(options().clock(ClockMode.MANUAL));
        WebhookReceiver receiver = mapped.receiver(sandbox)) {
      assertEquals(mapping.url().resolve("/api/v1"), sandbox.baseUrl());

      assertEquals(200, Deposits.create(sandbox, "order-1").statusCode());
      sandbox.clock().advance(Duration.ofMinutes(1));

      assertEquals(
          List.of("pay-in.created", "pay-in.pending", "pay-in.processing", "pay-in.succeeded"),
          receiver.types());
    }
  }

  /** Passes bytes on, both ways. */
  private static final class PortMapping implements AutoCloseable {
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final ServerSocket listening;

    PortMapping(URI target) throws IOException {
      listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
      threads.execute(() -> accept(target));
    }

    URI url() {
      return URI.create("http://127.0.0.1:" + listening.getLocalPort());
    }

    private void accept(URI target) {
      try {
        while (true) {
          Socket client = listening.accept();
          Socket server = new Socket(target.getHost(), target.getPort());
          threads.execute(() -> pass(client, server));
          threads.execute(() -> pass(server, client));
        }
      } catch (IOException e) {
        // The mapping is closed.
      }
    }

    private static void pass(Socket from, Socket to) {
      try (from;
          to) {
        from.getInputStream().transferTo(to.getOutputStream());
      } catch (IOException e) {
        // The other direction has ended.
      }
    }

    @Override
    public void close() throws IOException {
      listening.close();
      threads.shutdownNow();
    }
  }
}
