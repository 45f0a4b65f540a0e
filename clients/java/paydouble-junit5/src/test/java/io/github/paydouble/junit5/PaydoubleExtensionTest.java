package io.github.paydouble.junit5;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import io.github.paydouble.ClockMode;
import io.github.paydouble.ControlRefusedException;
import io.github.paydouble.Paydouble;
import io.github.paydouble.Sandbox;
import io.github.paydouble.WebhookReceiver;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.platform.engine.reporting.ReportEntry;
import org.junit.platform.testkit.engine.EngineExecutionResults;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Event;

/** Runs test classes with the extension, as JUnit does for its users. */
class PaydoubleExtensionTest {
  @Test
  void parallelTestsHaveSandboxesOfTheirOwnThatAreDeleted() {
    EngineExecutionResults results = run(Parallel.class, true);

    results.testEvents().assertStatistics(each -> each.succeeded(20).failed(0));
    assertEquals(20, Parallel.SANDBOXES.size());
    for (String id : Parallel.SANDBOXES) {
      assertThrows(ControlRefusedException.class, () -> Paydouble.start().find(id), id);
    }
  }

  @Test
  void aFailedTestHasATimeline() {
    EngineExecutionResults results = run(Failing.class, false);

    results.testEvents().assertStatistics(each -> each.failed(2).succeeded(1));
    List<String> timelines =
        results.testEvents().reportingEntryPublished().stream()
            .map(PaydoubleExtensionTest::timeline)
            .toList();
    assertEquals(2, timelines.size());
    assertTrue(
        timelines.stream()
            .anyMatch(each -> each.contains("1, with business key other; this sandbox has")),
        timelines::toString);
    assertTrue(
        timelines.stream().anyMatch(each -> each.contains("pay-in.created")), timelines::toString);
    assertTrue(
        timelines.stream().anyMatch(each -> each.contains("cannot be shown")), timelines::toString);
  }

  @Test
  void aSandboxForAWholeClassIsRefused() {
    EngineExecutionResults results = run(WholeClass.class, false);

    String message =
        results.containerEvents().failed().stream()
            .map(each -> String.valueOf(each.getPayload().orElseThrow()))
            .findFirst()
            .orElseThrow();
    assertTrue(message.contains("each test has its own Sandbox"), message);
  }

  @Test
  void aConfigurationIsThatOfTheTestOrOfItsClass() {
    run(Configured.class, false).testEvents().assertStatistics(each -> each.succeeded(3).failed(0));
  }

  private static EngineExecutionResults run(Class<?> tests, boolean parallel) {
    return EngineTestKit.engine("junit-jupiter")
        .selectors(selectClass(tests))
        .configurationParameter("junit.jupiter.execution.parallel.enabled", "" + parallel)
        .execute();
  }

  private static String timeline(Event event) {
    Map<String, String> entry = event.getRequiredPayload(ReportEntry.class).getKeyValuePairs();
    return entry.get("paydouble timeline");
  }

  // What the tests above run. Surefire does not, since these classes are nested and static.

  static class Parallel {
    static final Set<String> SANDBOXES = ConcurrentHashMap.newKeySet();
    private Sandbox before;

    @BeforeEach
    void keep(Sandbox sandbox) {
      before = sandbox;
    }

    @RepeatedTest(20)
    @ExtendWith(PaydoubleExtension.class)
    void each(Sandbox sandbox, WebhookReceiver receiver, Paydouble server) {
      assertEquals(before.id(), sandbox.id());
      assertTrue(SANDBOXES.add(sandbox.id()));
      sandbox.webhook().test();
      sandbox.clock().advanceUntilIdle();
      assertEquals(List.of("pay-in.succeeded"), receiver.types());
      assertEquals(server.url().getPort(), sandbox.baseUrl().getPort());
    }
  }

  static class Failing {
    @PaydoubleTest
    void fails(Paydouble server, Sandbox sandbox) throws Exception {
      sandbox.scenarios().play("happy-path");
      HttpRequest foreign =
          HttpRequest.newBuilder(server.url().resolve("/api/v1/pay-in/deposit-creation"))
              .header("Authorization", "Basic b3RoZXI6c2VjcmV0")
              .POST(HttpRequest.BodyPublishers.ofString("{}"))
              .build();
      HttpClient.newHttpClient().send(foreign, HttpResponse.BodyHandlers.discarding());
      fail("on purpose");
    }

    @PaydoubleTest
    void failsWithoutItsSandbox(Sandbox sandbox) {
      sandbox.delete();
      fail("on purpose");
    }

    @PaydoubleTest
    void succeeds(Sandbox sandbox) {
      assertNotEquals("", sandbox.id());
    }
  }

  @ExtendWith(PaydoubleExtension.class)
  static class WholeClass {
    @BeforeAll
    static void take(Sandbox sandbox) {
      fail("got " + sandbox);
    }

    @Test
    void never() {}
  }

  @SandboxConfig(seed = 1)
  static class Configured {
    @PaydoubleTest
    @SandboxConfig(clock = ClockMode.AUTO)
    void ofTheTest(Sandbox sandbox) {
      assertEquals(0, sandbox.seed());
      assertEquals(ClockMode.AUTO, sandbox.clock().read().mode());
    }

    @PaydoubleTest
    void ofTheClass(Sandbox sandbox) {
      assertEquals(1, sandbox.seed());
      assertEquals(ClockMode.MANUAL, sandbox.clock().read().mode());
    }

    @Nested
    class Inside {
      @PaydoubleTest
      void ofTheClassAround(Sandbox sandbox) {
        assertEquals(1, sandbox.seed());
      }
    }
  }
}
