package io.github.paydouble;

import static io.github.paydouble.Count.exactly;
import static io.github.paydouble.Count.none;
import static io.github.paydouble.DeliveryMatch.delivery;
import static io.github.paydouble.RequestMatch.request;
import static io.github.paydouble.SandboxOptions.options;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.paydouble.junit5.PaydoubleTest;
import io.github.paydouble.junit5.SandboxConfig;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.io.TempDir;

/** Steers a sandbox of a running server. */
class SandboxTest {
  @PaydoubleTest
  void aReplyThatIsLostIsReplayed(Sandbox sandbox) throws Exception {
    sandbox
        .faults()
        .add(Fault.connectionReset().operation("deposit-creation").afterCommit().times(1));
    UUID key = UUID.randomUUID();

    assertThrows(IOException.class, () -> Deposits.create(sandbox, "order-1", key));
    Deposits.create(sandbox, "order-1", key);

    RequestMatch order = request().externalIdentifier("order-1");
    assertEquals(1, sandbox.requests().verify(order.verdict(Verdict.NEW), exactly(1)));
    sandbox
        .requests()
        .verifySequence(List.of(order.verdict(Verdict.NEW), order.verdict(Verdict.REPLAY)));
    ArmedFault fault = sandbox.faults().list().get(0);
    assertEquals(1, fault.timesFired());
    assertEquals("connection_reset", fault.effect().path("type").asText());
    RecordedRequest last = sandbox.requests().last();
    assertEquals(200, last.status());
    assertEquals(Verdict.REPLAY, last.idempotency().verdict());
    assertEquals(new BigDecimal("49.90"), last.body().json().path("amount").decimalValue());
  }

  @PaydoubleTest
  void anExpectationThatFailsShowsTheNearMisses(Sandbox sandbox) throws Exception {
    Deposits.create(sandbox, "order-1");
    RequestMatch other = request().body(Map.of("amount", new BigDecimal("49.91")));

    AssertionError error =
        assertThrows(AssertionError.class, () -> sandbox.requests().verify(other));

    assertEquals(
        """
        expected at least 1 of the requests with {"body":{"amount":49.91}}, found 0
          close: ID POST /api/v1/pay-in/deposit-creation
            body.amount: wanted 49.91, got 49.90"""
            .replace("ID", sandbox.requests().last().id()),
        error.getMessage());
  }

  @PaydoubleTest
  void anExpectationOfWhatNeverHappenedSaysSo(Sandbox sandbox) {
    AssertionError error =
        assertThrows(
            AssertionError.class,
            () -> sandbox.deliveries().await(delivery(), exactly(2), Duration.ofMillis(10)));

    assertEquals(
        """
        expected exactly 2 of the deliveries, found 0 within 10ms
          there are no deliveries at all""",
        error.getMessage());
    assertThrows(AssertionError.class, () -> sandbox.events().last());
    sandbox.requests().verify(request(), none());
  }

  @PaydoubleTest
  @SandboxConfig(
      start = "2026-01-01T00:00:00Z",
      seed = 7,
      scenario = "card-declined",
      settings = "{\"webhooks\": {\"timeout\": \"2s\"}}")
  void aSandboxIsAsItsTestSays(Sandbox sandbox) {
    SandboxState state = sandbox.read();

    assertEquals(7, state.seed());
    assertEquals("card-declined", state.scenario());
    assertEquals(ClockMode.MANUAL, state.clock().mode());
    assertEquals(Instant.parse("2026-01-01T00:00:00Z"), state.clock().now());
    assertEquals("2s", state.settings().path("webhooks").path("timeout").asText());
    assertTrue(sandbox.baseUrl().toString().endsWith("/api/v1"));
  }

  @PaydoubleTest
  void timePassesWhenATestSaysSo(Sandbox sandbox) {
    Instant before = sandbox.clock().read().now();

    sandbox.scenarios().play("happy-path");
    ClockState.Advanced advanced = sandbox.clock().advance(Duration.ofDays(3));

    assertEquals(before.plus(Duration.ofDays(3)), advanced.now());
    assertEquals(3, advanced.fired());
    assertTrue(sandbox.clock().advanceUntilIdle().idle());
    assertEquals("succeeded", sandbox.payIns().list().get(0).status());
  }

  @PaydoubleTest
  void aTimeCannotBeNegative(Sandbox sandbox) {
    Duration back = Duration.ofSeconds(-1);

    PaydoubleException error =
        assertThrows(PaydoubleException.class, () -> sandbox.clock().advance(back));

    assertEquals("the duration PT-1S is negative; give zero or more", error.getMessage());
  }

  @PaydoubleTest
  void amountsAreExact(Sandbox sandbox) {
    BigDecimal amount = new BigDecimal("131072.90");
    Resource payIn = sandbox.scenarios().play("happy-path", Map.of("amount", amount));
    sandbox.clock().advance(Duration.ofMinutes(1));

    Dispute small = Dispute.of(new BigDecimal("0.01")).reason("not_received");
    Resource dispute = sandbox.payIns().dispute(payIn.id(), small);

    assertEquals(amount, payIn.amount("amount"));
    assertEquals(new BigDecimal("0.01"), dispute.amount("amount"));
    assertEquals(
        new BigDecimal("0.01"), sandbox.payIns().get(payIn.id()).amount("disputed_amount"));
    Resource refund =
        sandbox.payIns().refund(payIn.id(), Refund.of(amount.subtract(BigDecimal.ONE)));
    assertEquals(new BigDecimal("131071.90"), refund.amount("amount"));
    assertEquals(
        "won", sandbox.disputes().transition(dispute.id(), Transition.to("won").force()).status());
  }

  @PaydoubleTest
  void aQuotaAnswers429(Sandbox sandbox) throws Exception {
    sandbox.rateLimit().set(Quota.of(1).window(Duration.ofSeconds(30)));

    assertEquals(200, Deposits.create(sandbox, "order-1").statusCode());
    assertEquals(429, Deposits.create(sandbox, "order-2").statusCode());
    sandbox.rateLimit().clear();
    assertEquals(200, Deposits.create(sandbox, "order-2").statusCode());
  }

  @PaydoubleTest
  void anOutcomeIsForced(Sandbox sandbox) {
    Resource payIn = sandbox.scenarios().play("happy-path");

    Transition declined =
        Transition.to("failed").failure("card_declined", "The issuer declined.").force();
    Resource failed = sandbox.payIns().transition(payIn.id(), declined);

    assertEquals("failed", failed.status());
    Event event = sandbox.events().last();
    assertEquals("pay-in.failed", event.type());
    assertEquals(payIn.id(), event.body().json().path("data").path("object").path("id").asText());
  }

  @PaydoubleTest
  void aSandboxIsForked(Sandbox sandbox) {
    sandbox.scenarios().play("happy-path");

    try (Sandbox fork = sandbox.fork()) {
      fork.clock().advanceUntilIdle();

      assertEquals("succeeded", fork.payIns().list().get(0).status());
      assertEquals("created", sandbox.payIns().list().get(0).status());
    }
  }

  @PaydoubleTest
  void aScenarioIsChosen(Sandbox sandbox) {
    assertEquals(Optional.empty(), sandbox.scenarios().active());

    sandbox.scenarios().activate("card-declined");

    assertEquals(Optional.of("card-declined"), sandbox.scenarios().active());
    assertEquals(Optional.of("card-declined"), sandbox.scenarios().deactivate());
  }

  @PaydoubleTest
  void aRunIsExported(Sandbox sandbox, @TempDir Path folder) throws Exception {
    sandbox.scenarios().play("happy-path");
    Path file = folder.resolve("shop.paydouble");

    sandbox.export(file);

    assertTrue(Files.readString(file).contains("happy-path"));
  }

  @PaydoubleTest
  void aRefusalNamesTheMember(Sandbox sandbox) {
    Fault wrong = Fault.error(200);

    ControlRefusedException refusal =
        assertThrows(ControlRefusedException.class, () -> sandbox.faults().add(wrong));

    assertEquals(400, refusal.status());
    assertEquals("effect.status", refusal.member());
    assertTrue(refusal.getMessage().contains("effect.status"), refusal.getMessage());
  }

  @PaydoubleTest
  void whatIsNotWrappedIsCalledByItsPath(Paydouble server, Sandbox sandbox) {
    assertEquals("manual", sandbox.call("GET", "/clock", null).path("mode").asText());
    assertEquals("ok", server.call("GET", "/health", null).path("status").asText());
    String id = sandbox.call("POST", "/checkpoint", Map.of()).path("id").asText();
    sandbox.fork(id, options().id(sandbox.id() + "-fork")).close();
  }

  @PaydoubleTest
  void theTimelineShowsWhatHappened(Sandbox sandbox, WebhookReceiver receiver) throws Exception {
    sandbox.faults().add(Fault.error(503).id("down").times(1));
    sandbox.faults().add(Fault.drop().eventType("pay-in.pending").id("lost"));
    sandbox.faults().add(Fault.drop().eventType("refund.*").id("idle"));
    Deposits.create(sandbox, "order-1");
    Deposits.create(sandbox, "order-1");
    sandbox.clock().advance(Duration.ofSeconds(2));
    receiver.await(1);

    List<String> lines = sandbox.timeline().lines().toList();

    assertTrue(
        lines
            .get(0)
            .matches(
                "\\+0s       merchant →  POST /pay-in/deposit-creation order-1  503 \\(down\\) \\w+: .*"),
        lines.get(0));
    assertEquals(
        List.of(
            "+0s       merchant →  POST /pay-in/deposit-creation order-1  200 new",
            "+0s       service     pay-in.created order-1",
            "+0s       → merchant  pay-in.created order-1, attempt 1  200",
            "+2s       service     pay-in.pending order-1  dropped (lost)",
            "fault down (error) fired once",
            "fault lost (drop) fired once",
            "fault idle (drop) never fired; it matched nothing"),
        lines.subList(1, lines.size()));
  }
}
