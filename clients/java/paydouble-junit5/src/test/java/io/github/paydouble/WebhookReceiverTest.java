package io.github.paydouble;

import static io.github.paydouble.DeliveryMatch.delivery;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.paydouble.junit5.PaydoubleTest;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** Receives webhooks, of a running server and forged ones. */
class WebhookReceiverTest {
  private static final String SECRET = "whsec_test";
  private static final byte[] BODY = "{\"id\": \"evt_1\"}".getBytes(StandardCharsets.UTF_8);

  @PaydoubleTest
  void theEventsOfAPaymentArrive(Sandbox sandbox, WebhookReceiver receiver) {
    sandbox.scenarios().play("happy-path");
    sandbox.clock().advance(Duration.ofMinutes(1));

    assertEquals(
        List.of("pay-in.created", "pay-in.pending", "pay-in.processing", "pay-in.succeeded"),
        receiver.types());
    ReceivedWebhook last = receiver.received().get(3);
    assertTrue(last.verified());
    assertEquals(1, last.attempt());
    assertEquals("succeeded", last.event().path("data").path("object").path("status").asText());
  }

  @PaydoubleTest
  void anAnswerThatFailsIsTriedAgain(Sandbox sandbox, WebhookReceiver receiver) {
    receiver.failNext(2);
    receiver.failNext(1, 503);
    sandbox.webhook().test();
    sandbox.clock().advance(Duration.ofHours(1));

    List<ReceivedWebhook> received = receiver.received();
    assertEquals(
        List.of(500, 500, 503, 200), received.stream().map(ReceivedWebhook::answered).toList());
    assertEquals(4, received.get(3).attempt());
    assertFalse(received.get(3).duplicate());
    sandbox.deliveries().verify(delivery().attemptCount(4).status(DeliveryStatus.DELIVERED));
  }

  @PaydoubleTest
  void aReceiverThatIsDownForHoursGetsItAfterThat(Sandbox sandbox, WebhookReceiver receiver) {
    receiver.down();
    sandbox.webhook().test();
    sandbox.clock().advance(Duration.ofHours(50));
    assertEquals(List.of(), receiver.received());
    Delivery waiting = sandbox.deliveries().last();
    assertEquals("refused", waiting.attempts().get(0).error().kind());

    receiver.up();
    sandbox.clock().advance(Duration.ofHours(22));

    assertEquals(List.of("pay-in.succeeded"), receiver.types());
    receiver.down();
    receiver.down();
    receiver.up();
    receiver.up();
  }

  @PaydoubleTest
  void aDuplicateIsKnown(Sandbox sandbox, WebhookReceiver receiver) {
    sandbox.faults().add(Fault.duplicate().times(1));
    sandbox.webhook().test();
    sandbox.clock().advance(Duration.ofMinutes(1));

    assertEquals(
        List.of(false, true), receiver.await(2).stream().map(ReceivedWebhook::duplicate).toList());
    receiver.clear();
    assertEquals(List.of(), receiver.received());
  }

  @PaydoubleTest
  void aWrongSignatureIsRefused(Sandbox sandbox, WebhookReceiver receiver) {
    sandbox.faults().add(Fault.signature("wrong_secret").times(1));
    sandbox.webhook().test();
    sandbox.clock().advance(Duration.ofMinutes(1));

    List<ReceivedWebhook> received = receiver.received();
    assertEquals(401, received.get(0).answered());
    assertEquals(0, received.get(0).attempt());
    assertFalse(received.get(0).verified());
    assertTrue(received.get(1).verified());
  }

  @PaydoubleTest
  void aSecretIsRotated(Sandbox sandbox, WebhookReceiver receiver) {
    String secret = sandbox.webhook().rotateSecret().secret();
    sandbox.webhook().test();
    sandbox.clock().advance(Duration.ZERO);
    assertEquals(401, receiver.received().get(0).answered());

    receiver.verifyWith(secret);
    sandbox.clock().advance(Duration.ofMinutes(1));

    assertEquals(200, receiver.received().get(1).answered());
  }

  @PaydoubleTest
  void aSlowAnswerTimesOut(Sandbox sandbox, WebhookReceiver receiver) {
    sandbox.change(SandboxOptions.options().settings("{\"webhooks\": {\"timeout\": \"50ms\"}}"));
    receiver.slow(Duration.ofSeconds(2));
    sandbox.webhook().test();
    sandbox.clock().advance(Duration.ZERO);

    sandbox.deliveries().await(delivery().attemptCount(1));
    assertEquals("timeout", sandbox.deliveries().last().attempts().get(0).error().kind());
  }

  @PaydoubleTest
  void theCodeUnderTestAnswers(Sandbox sandbox, WebhookReceiver receiver) {
    receiver.handle(webhook -> webhook.attempt() == 1 ? crash() : 204);
    sandbox.webhook().test();
    sandbox.clock().advance(Duration.ofMinutes(1));

    assertEquals(
        List.of(500, 204), receiver.received().stream().map(ReceivedWebhook::answered).toList());
  }

  private static int crash() {
    throw new IllegalStateException("the code under test fails on purpose");
  }

  @Test
  void whatDoesNotComeIsExplained() {
    try (WebhookReceiver receiver = WebhookReceiver.with(SECRET).start()) {
      AssertionError error =
          assertThrows(
              AssertionError.class,
              () -> receiver.await(ReceivedWebhook::verified, Duration.ofMillis(10)));

      assertEquals(
          """
          expected a webhook that the predicate accepts at %s within 10ms, got 0
            is this the sandbox's target, and has its clock been advanced?"""
              .formatted(receiver.url()),
          error.getMessage());
    }
  }

  @Test
  void itIsReachableByAnotherName() throws Exception {
    try (WebhookReceiver receiver =
        WebhookReceiver.with(SECRET).reachableAs("host.docker.internal").start()) {
      URI url = receiver.url();

      assertEquals("host.docker.internal", url.getHost());
      URI here = URI.create("http://localhost:" + url.getPort());
      assertEquals(200, post(here, WebhookSignature.sign(BODY, SECRET, Instant.now())));
    }
  }

  @Test
  void forgedWebhooksAreAnsweredAsTheContractSays() throws Exception {
    Instant now = Instant.now();
    try (WebhookReceiver receiver = WebhookReceiver.with(SECRET).start()) {
      assertEquals(400, post(receiver.url(), "t=1,v2=abc"));
      assertEquals(
          400, post(receiver.url(), WebhookSignature.sign(BODY, SECRET, now.minusSeconds(310))));
      assertEquals(401, post(receiver.url(), WebhookSignature.sign(BODY, "whsec_other", now)));
      assertEquals(200, post(receiver.url(), WebhookSignature.sign(BODY, SECRET, now)));
      HttpRequest get = HttpRequest.newBuilder(receiver.url()).build();
      assertEquals(
          405, HttpClient.newHttpClient().send(get, BodyHandlers.discarding()).statusCode());
      AssertionError error =
          assertThrows(AssertionError.class, () -> receiver.await(each -> false, Duration.ZERO));
      assertTrue(
          error
              .getMessage()
              .contains(
                  "answered 401, no v1 fits this body and this secret; check that the body has the"
                      + " bytes as they came, and that the secret is the webhook secret of the"
                      + " sandbox"),
          error.getMessage());
    }
  }

  @Test
  void whatIsSignedAndNoEventIsNeverADuplicate() throws Exception {
    byte[] body = "[]".getBytes(StandardCharsets.UTF_8);
    try (WebhookReceiver receiver = WebhookReceiver.with(SECRET).start()) {
      for (int time = 0; time < 2; time++) {
        post(receiver.url(), WebhookSignature.sign(body, SECRET, Instant.now()), body);
      }

      for (ReceivedWebhook each : receiver.received()) {
        assertEquals("", each.type());
        assertEquals(1, each.attempt());
        assertFalse(each.duplicate());
      }
    }
  }

  @Test
  void aBlankSecretIsAMistake() {
    assertThrows(PaydoubleException.class, () -> WebhookReceiver.with(" ").start());
  }

  @Test
  void aReceiverThatIsDownRefusesConnections() {
    try (WebhookReceiver receiver = WebhookReceiver.with(SECRET).start()) {
      receiver.down();

      assertThrows(ConnectException.class, () -> post(receiver.url(), "t=1,v1=a"));
    }
  }

  @Test
  void aProcessThatStartsMeanwhileDoesNotKeepTheReceiverUp() throws Exception {
    // Between its fork and its exec a process has a copy of every socket, a listening one as well.
    AtomicBoolean done = new AtomicBoolean();
    Callable<Void> startProcesses =
        () -> {
          while (!done.get()) {
            new ProcessBuilder("true").start().waitFor();
          }
          return null;
        };
    ExecutorService threads = Executors.newSingleThreadExecutor();
    Future<Void> starting = threads.submit(startProcesses);
    try (WebhookReceiver receiver = WebhookReceiver.with(SECRET).start()) {
      for (int time = 0; time < 50; time++) {
        receiver.down();
        assertThrows(ConnectException.class, () -> post(receiver.url(), "t=1,v1=a"));
        receiver.up();
      }
    } finally {
      done.set(true);
      threads.shutdown();
    }
    starting.get();
  }

  @Test
  void aPortThatIsTakenIsNamed() {
    try (WebhookReceiver receiver = WebhookReceiver.with(SECRET).start()) {
      int port = receiver.url().getPort();
      WebhookReceiver.Builder second = WebhookReceiver.with(SECRET).port(port);

      PaydoubleException error = assertThrows(PaydoubleException.class, second::start);

      assertTrue(error.getMessage().contains("127.0.0.1:" + port), error.getMessage());
    }
  }

  private static int post(URI url, String signature) throws Exception {
    return post(url, signature, BODY);
  }

  private static int post(URI url, String signature, byte[] body) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(url)
            .header(WebhookSignature.HEADER, signature)
            .POST(BodyPublishers.ofByteArray(body))
            .build();
    return HttpClient.newHttpClient().send(request, BodyHandlers.discarding()).statusCode();
  }
}
