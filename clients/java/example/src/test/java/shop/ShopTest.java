package shop;

import static io.github.paydouble.Count.exactly;
import static io.github.paydouble.RequestMatch.request;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.paydouble.Fault;
import io.github.paydouble.Quota;
import io.github.paydouble.ReceivedWebhook;
import io.github.paydouble.Sandbox;
import io.github.paydouble.Verdict;
import io.github.paydouble.WebhookReceiver;
import io.github.paydouble.WebhookSignature;
import io.github.paydouble.junit5.PaydoubleExtension;
import io.github.paydouble.junit5.PaydoubleTest;
import java.math.BigDecimal;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(PaydoubleExtension.class)
class ShopTest {
  private static final BigDecimal PRICE = new BigDecimal("49.90");
  private Shop shop;

  /** The shop's pauses move the sandbox's clock, so that no test sleeps. */
  @BeforeEach
  void open(Sandbox sandbox, WebhookReceiver receiver) {
    shop =
        new Shop(
            sandbox.baseUrl(),
            sandbox.authorization(),
            sandbox.webhookSecret(),
            sandbox.clock()::advance);
    receiver.handle(
        webhook -> shop.webhook(webhook.body().bytes(), webhook.header(WebhookSignature.HEADER)));
  }

  @PaydoubleTest
  void aLostReplyIsNotPaidTwice(Sandbox sandbox) throws Exception {
    sandbox
        .faults()
        .add(Fault.connectionReset().operation("deposit-creation").afterCommit().times(1));

    shop.pay("order-1", PRICE);

    sandbox.requests().verify(request().verdict(Verdict.NEW), exactly(1));
    sandbox.requests().verify(request().verdict(Verdict.REPLAY), exactly(1));
  }

  @PaydoubleTest
  void aDuplicateIsShippedOnce(Sandbox sandbox, WebhookReceiver receiver) throws Exception {
    sandbox.faults().add(Fault.duplicate().eventType("pay-in.succeeded"));

    shop.pay("order-1", PRICE);
    sandbox.clock().advance(Duration.ofMinutes(1));

    assertTrue(receiver.received().stream().anyMatch(ReceivedWebhook::duplicate));
    assertEquals(1, shop.shipments("order-1"));
  }

  @PaydoubleTest
  void aShopThatWasDownForDaysShipsAfterThat(Sandbox sandbox, WebhookReceiver receiver)
      throws Exception {
    receiver.down();
    shop.pay("order-1", PRICE);
    sandbox.clock().advance(Duration.ofHours(50));
    assertEquals(0, shop.shipments("order-1"));

    receiver.up();
    sandbox.clock().advance(Duration.ofHours(22));

    assertEquals(1, shop.shipments("order-1"));
  }

  @PaydoubleTest
  void aRateLimitIsWaitedFor(Sandbox sandbox) throws Exception {
    sandbox.rateLimit().set(Quota.of(1).clock("sandbox_clock").resetUnit("delta_seconds"));

    shop.pay("order-1", PRICE);
    shop.pay("order-2", PRICE);

    sandbox.requests().verify(request().status(429), exactly(1));
    sandbox.requests().verify(request().status(200), exactly(2));
  }
}
