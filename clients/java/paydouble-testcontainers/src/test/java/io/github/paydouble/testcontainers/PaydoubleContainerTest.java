package io.github.paydouble.testcontainers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.paydouble.ClockMode;
import io.github.paydouble.PaydoubleException;
import io.github.paydouble.Sandbox;
import io.github.paydouble.SandboxOptions;
import io.github.paydouble.ServerProvider;
import io.github.paydouble.WebhookReceiver;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import org.junit.jupiter.api.Test;
import org.testcontainers.DockerClientFactory;

/** Describes the container anywhere; starts it where Docker and the image are. */
class PaydoubleContainerTest {
  private static final String IMAGE = System.getenv("PAYDOUBLE_IMAGE");

  @Test
  void theContainerIsDescribed() {
    try (PaydoubleContainer container =
        new PaydoubleContainer("paydouble:test")
            .withClock(ClockMode.MANUAL)
            .withSeed(7)
            .withControlToken("secret")) {
      assertTrue(container.getImage().toString().contains("imageName=paydouble:test"));
      assertEquals(List.of(8080), container.getExposedPorts());
      assertEquals(List.of("host.docker.internal:host-gateway"), container.getExtraHosts());
      assertEquals(
          Map.of(
              "PAYDOUBLE_CLOCK", "manual",
              "PAYDOUBLE_SEED", "7",
              "PAYDOUBLE_CONTROL_TOKEN", "secret"),
          container.getEnvMap());
    }
  }

  @Test
  void theJunitExtensionFindsTheProvider() {
    ServerProvider provider = ServiceLoader.load(ServerProvider.class).findFirst().orElseThrow();

    assertInstanceOf(ContainerProvider.class, provider);
  }

  @Test
  void withoutDockerTheReasonIsGiven() {
    assumeFalse(DockerClientFactory.instance().isDockerAvailable(), "Docker runs here");

    PaydoubleException error =
        assertThrows(PaydoubleException.class, () -> new ContainerProvider().start());

    assertEquals("Testcontainers finds no Docker here", error.getMessage());
  }

  @Test
  void aServerInAContainerSendsWebhooksToTheTest() {
    assumeTrue(IMAGE != null, "PAYDOUBLE_IMAGE names no image");
    assumeTrue(DockerClientFactory.instance().isDockerAvailable(), "Docker does not run here");

    try (PaydoubleContainer container = new PaydoubleContainer(IMAGE)) {
      container.start();
      SandboxOptions options = SandboxOptions.options().clock(ClockMode.MANUAL);
      try (Sandbox sandbox = container.server().sandbox(options);
          WebhookReceiver receiver = container.server().receiver(sandbox)) {
        sandbox.scenarios().play("happy-path");
        sandbox.clock().advance(Duration.ofMinutes(1));

        assertTrue(receiver.types().contains("pay-in.succeeded"), receiver.types()::toString);
      }
    }
  }
}
