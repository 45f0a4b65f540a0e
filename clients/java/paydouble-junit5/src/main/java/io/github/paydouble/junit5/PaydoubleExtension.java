package io.github.paydouble.junit5;

import io.github.paydouble.ClockSpec;
import io.github.paydouble.Paydouble;
import io.github.paydouble.PaydoubleException;
import io.github.paydouble.RecordedRequest;
import io.github.paydouble.Sandbox;
import io.github.paydouble.SandboxOptions;
import io.github.paydouble.WebhookReceiver;
import java.time.Instant;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ExtensionContext.Store;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolutionException;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.platform.commons.support.AnnotationSupport;

/**
 * Gives tests a {@code Sandbox}, a {@code WebhookReceiver} and the {@code Paydouble} server.
 *
 * <p>All tests of a run share one server, which {@link Paydouble#start} finds. Each test has its
 * own sandbox and receiver, which are closed after it, so tests can run in parallel. When a test
 * fails, the sandbox's timeline is published as a report entry and printed to the standard error
 * stream.
 */
public final class PaydoubleExtension implements ParameterResolver, AfterEachCallback {
  private static final Namespace NAMESPACE = Namespace.create(PaydoubleExtension.class);

  /** Used by JUnit. */
  public PaydoubleExtension() {}

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    Class<?> type = parameter.getParameter().getType();
    return type == Paydouble.class || type == Sandbox.class || type == WebhookReceiver.class;
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    Class<?> type = parameter.getParameter().getType();
    try {
      if (type == Paydouble.class) {
        return server(context);
      }
      if (context.getTestMethod().isEmpty()) {
        throw new ParameterResolutionException(
            "each test has its own %s: take it as a parameter of the test, or of @BeforeEach"
                .formatted(type.getSimpleName()));
      }
      return type == Sandbox.class ? sandbox(context) : receiver(context);
    } catch (PaydoubleException e) {
      throw new ParameterResolutionException(e.getMessage(), e);
    }
  }

  @Override
  public void afterEach(ExtensionContext context) {
    Closing<?> sandbox = context.getStore(NAMESPACE).get(Sandbox.class, Closing.class);
    if (sandbox != null && context.getExecutionException().isPresent()) {
      report(context, (Sandbox) sandbox.value(), sandbox.made());
    }
  }

  private static void report(ExtensionContext context, Sandbox sandbox, Instant since) {
    String timeline;
    try {
      timeline = sandbox.timeline() + unclaimed(server(context), sandbox, since);
    } catch (PaydoubleException e) {
      timeline = "what happened cannot be shown: " + e.getMessage();
    }
    context.publishReportEntry("paydouble timeline", timeline);
    // Build tools do not show report entries. One call, so that parallel tests do not mix their
    // lines.
    System.err.println(
        "paydouble timeline of %s.%s (%s, seed %d)%n%s"
            .formatted(
                context.getRequiredTestClass().getSimpleName(),
                context.getDisplayName(),
                sandbox,
                sandbox.seed(),
                timeline.indent(2)));
  }

  /** Returns a hint at requests with other credentials, which are a usual mistake. */
  private static String unclaimed(Paydouble server, Sandbox sandbox, Instant since) {
    List<RecordedRequest> requests =
        server.unclaimedRequests().stream().filter(each -> each.at().isAfter(since)).toList();
    return requests.isEmpty()
        ? ""
        : "%nrequests that no sandbox claims: %d, with business key %s; this sandbox has %s"
            .formatted(requests.size(), requests.get(0).businessKey(), sandbox.businessKey());
  }

  private static Paydouble server(ExtensionContext context) {
    Store store = context.getRoot().getStore(NAMESPACE);
    return kept(store, Paydouble.class, Paydouble::start, Paydouble::close);
  }

  private static Sandbox sandbox(ExtensionContext context) {
    Supplier<Sandbox> make = () -> server(context).sandbox(options(context));
    return kept(context.getStore(NAMESPACE), Sandbox.class, make, Sandbox::close);
  }

  private static WebhookReceiver receiver(ExtensionContext context) {
    // Made before the receiver, and so closed after it.
    Sandbox sandbox = sandbox(context);
    Supplier<WebhookReceiver> make = () -> server(context).receiver(sandbox);
    return kept(context.getStore(NAMESPACE), WebhookReceiver.class, make, WebhookReceiver::close);
  }

  private static SandboxOptions options(ExtensionContext context) {
    SandboxConfig config = config(context);
    ClockSpec clock = ClockSpec.of(config.clock());
    if (!config.start().isEmpty()) {
      clock = clock.start(Instant.parse(config.start()));
    }
    SandboxOptions options = SandboxOptions.options().seed(config.seed()).clock(clock);
    if (!config.scenario().isEmpty()) {
      options = options.scenario(config.scenario());
    }
    return config.settings().isEmpty() ? options : options.settings(config.settings());
  }

  /** Returns the closest one: of the test, of its class, or of the classes around that. */
  private static SandboxConfig config(ExtensionContext context) {
    return AnnotationSupport.findAnnotation(context.getElement(), SandboxConfig.class)
        .orElseGet(
            () ->
                context
                    .getParent()
                    .map(PaydoubleExtension::config)
                    .orElseGet(() -> Defaults.class.getAnnotation(SandboxConfig.class)));
  }

  private static <T> T kept(Store store, Class<T> type, Supplier<T> make, Consumer<T> close) {
    Closing<?> kept =
        store.getOrComputeIfAbsent(
            type, key -> new Closing<>(make.get(), close, Instant.now()), Closing.class);
    return type.cast(kept.value());
  }

  /** Closed by JUnit with the store that it is in: before 5.13 for the one type, then the other. */
  @SuppressWarnings("deprecation")
  private record Closing<T>(T value, Consumer<T> onClose, Instant made)
      implements Store.CloseableResource, AutoCloseable {
    @Override
    public void close() {
      onClose.accept(value);
    }
  }

  @SandboxConfig
  private static final class Defaults {}
}
