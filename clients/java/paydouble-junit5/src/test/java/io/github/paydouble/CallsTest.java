package io.github.paydouble;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.DecimalNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.math.BigDecimal;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BiFunction;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** Replays the table of calls that all clients have, and compares what is sent. */
class CallsTest {
  private static final Path CLIENTS = Path.of("..", "..");
  private static final String SANDBOX = "box 1";
  private static final Set<String> PAGING = Set.of("limit", "cursor");

  @TempDir static Path files;

  /** What a call is replayed on. */
  private record Stage(Paydouble server, Sandbox sandbox) {}

  private interface Replay {
    void make(Stage stage, Given given) throws Exception;
  }

  /** A request as it was sent. */
  private record Sent(String method, String path, Map<String, String> query, JsonNode json) {}

  @TestFactory
  Stream<DynamicTest> aCallSendsWhatTheTableSays() throws IOException {
    Map<String, Integer> seen = new HashMap<>();
    JsonNode answers = Json.read(Files.readAllBytes(CLIENTS.resolve("answers.json")));
    Set<String> gaps = gaps();
    List<DynamicTest> tests = new ArrayList<>();
    for (JsonNode entry : table("calls.yaml")) {
      String call = entry.path("call").asText();
      String name = call + "-" + seen.merge(call, 1, Integer::sum);
      if (!gaps.contains(call)) {
        tests.add(DynamicTest.dynamicTest(name, () -> replay(entry, answers)));
      }
    }
    return tests.stream();
  }

  @Test
  void aCallIsWrappedOrInTheLedgerOfGaps() throws IOException {
    Set<String> wanted = new TreeSet<>();
    table("calls.yaml").forEach(entry -> wanted.add(entry.path("call").asText()));
    wanted.removeAll(gaps());

    assertEquals(wanted, new TreeSet<>(CALLS.keySet()));
  }

  private static void replay(JsonNode entry, JsonNode answers) throws Exception {
    JsonNode sends = entry.path("sends");
    Map<String, String> query = new TreeMap<>();
    sends.path("query").properties().forEach(q -> query.put(q.getKey(), q.getValue().asText()));
    Sent wanted =
        new Sent(
            sends.path("method").asText(),
            "/_paydouble" + sends.path("path").asText().replace("{sandbox}", "box%201"),
            query,
            normal(sends.path("json")));

    List<Sent> sent = new ArrayList<>();
    JsonNode answer = answers.path(entry.path("operation").asText());
    HttpServer recorder =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    recorder.createContext("/", exchange -> record(exchange, answer, sent));
    recorder.start();
    try {
      URI url = URI.create("http://127.0.0.1:" + recorder.getAddress().getPort());
      ObjectNode shown = answers.path("sandbox-read").path("json").deepCopy();
      SandboxState state = Json.convert(shown.put("id", SANDBOX), SandboxState.class);
      Stage stage =
          new Stage(Paydouble.at(url).connect(), new Sandbox(new Control(url, null), state));
      Given given = new Given(entry.path("given"));
      CALLS.get(entry.path("call").asText()).make(stage, given);
      given.assertAllUsed();
    } finally {
      recorder.stop(0);
    }

    assertEquals(List.of(wanted), sent);
  }

  private static void record(HttpExchange exchange, JsonNode answer, List<Sent> sent)
      throws IOException {
    try (exchange) {
      byte[] body = exchange.getRequestBody().readAllBytes();
      Map<String, String> query = new TreeMap<>();
      String asked = exchange.getRequestURI().getRawQuery();
      for (String each : asked == null ? new String[0] : asked.split("&")) {
        String[] parts = each.split("=", 2);
        if (!PAGING.contains(parts[0])) {
          query.put(parts[0], URLDecoder.decode(parts[1], StandardCharsets.UTF_8));
        }
      }
      sent.add(
          new Sent(
              exchange.getRequestMethod(),
              exchange.getRequestURI().getRawPath(),
              query,
              normal(Json.read(body))));
      byte[] text =
          answer.has("text")
              ? answer.path("text").asText().getBytes(StandardCharsets.UTF_8)
              : Json.write(answer.path("json"));
      exchange.sendResponseHeaders(answer.path("status").asInt(), text.length);
      exchange.getResponseBody().write(text);
    }
  }

  /** Returns JSON in which equal numbers are equal nodes. */
  private static JsonNode normal(JsonNode node) {
    if (node.isNumber()) {
      return DecimalNode.valueOf(new BigDecimal(node.asText()).stripTrailingZeros());
    }
    if (node instanceof ObjectNode object) {
      ObjectNode copy = object.objectNode();
      object.properties().forEach(m -> copy.set(m.getKey(), normal(m.getValue())));
      return copy;
    }
    if (node instanceof ArrayNode array) {
      ArrayNode copy = array.arrayNode();
      array.forEach(each -> copy.add(normal(each)));
      return copy;
    }
    return node;
  }

  private static JsonNode table(String name) throws IOException {
    return new YAMLMapper().readTree(CLIENTS.resolve(name).toFile());
  }

  private static Set<String> gaps() throws IOException {
    Set<String> names = new HashSet<>();
    table("gaps.yaml").path("java").forEach(name -> names.add(name.asText()));
    return names;
  }

  /** The arguments of an entry; each must be used. */
  private static final class Given {
    private final JsonNode members;
    private final Set<String> used = new HashSet<>();

    Given(JsonNode members) {
      this.members = members;
    }

    boolean has(String name) {
      return members.has(name);
    }

    JsonNode json(String name) {
      used.add(name);
      return members.path(name);
    }

    String text(String name) {
      return json(name).textValue();
    }

    int number(String name) {
      return json(name).intValue();
    }

    URI url(String name) {
      return json(name).isNull() ? null : URI.create(text(name));
    }

    Instant instant(String name) {
      return Instant.parse(text(name));
    }

    Duration duration(String name) {
      return CallsTest.duration(text(name));
    }

    @SuppressWarnings("unchecked")
    Map<String, Object> map(String name) {
      return (Map<String, Object>) plain(json(name));
    }

    Map<String, String> texts(String name) {
      Map<String, String> texts = new TreeMap<>();
      json(name).properties().forEach(each -> texts.put(each.getKey(), each.getValue().asText()));
      return texts;
    }

    /** Returns the names that were not used so far. */
    Set<String> rest() {
      Set<String> names = new TreeSet<>();
      members.fieldNames().forEachRemaining(names::add);
      names.removeAll(used);
      return names;
    }

    void assertAllUsed() {
      assertEquals(Set.of(), rest());
    }
  }

  private static Object plain(JsonNode node) {
    if (node.isObject()) {
      Map<String, Object> map = new LinkedHashMap<>();
      node.properties().forEach(each -> map.put(each.getKey(), plain(each.getValue())));
      return map;
    }
    if (node.isArray()) {
      List<Object> list = new ArrayList<>();
      node.forEach(each -> list.add(plain(each)));
      return list;
    }
    if (node.isFloatingPointNumber()) {
      return new BigDecimal(node.asText());
    }
    return node.isInt()
        ? (Object) node.intValue()
        : node.isLong()
            ? (Object) node.longValue()
            : node.isBoolean() ? node.booleanValue() : node.textValue();
  }

  /** Reads the server's own form of a duration, such as 1h30m. */
  private static Duration duration(String text) {
    assertTrue(text.matches("(\\d+(d|h|ms|m|s))+"), text);
    String iso = text.replaceFirst("(\\d+)d", "P$1DT");
    Duration milliseconds = Duration.ZERO;
    if (iso.endsWith("ms")) {
      milliseconds = Duration.ofMillis(Long.parseLong(iso.replaceFirst(".*?(\\d+)ms$", "$1")));
      iso = iso.replaceFirst("\\d+ms$", "");
    }
    String rest = (iso.startsWith("P") ? iso : "PT" + iso).replaceFirst("T$", "");
    return (rest.equals("P") ? Duration.ZERO : Duration.parse(rest)).plus(milliseconds);
  }

  // What each call of the table is here

  private static final Map<String, BiFunction<Fault, Given, Fault>> FAULT_MEMBERS =
      Map.ofEntries(
          Map.entry("id", (fault, given) -> fault.id(given.text("id"))),
          Map.entry("name", (fault, given) -> fault.name(given.text("name"))),
          Map.entry("enabled", (f, given) -> f.enabled(given.json("enabled").booleanValue())),
          Map.entry("skip", (fault, given) -> fault.skip(given.number("skip"))),
          Map.entry("times", (fault, given) -> fault.times(given.number("times"))),
          Map.entry(
              "probability", (f, given) -> f.probability(given.json("probability").doubleValue())),
          Map.entry("ttl", (fault, given) -> fault.ttl(given.duration("ttl"))),
          Map.entry("compose", (f, given) -> f.compose(given.json("compose").booleanValue())),
          Map.entry(
              "on", (f, given) -> given.text("on").equals("api") ? f.onApi() : f.onWebhooks()),
          Map.entry(
              "phase",
              (f, given) ->
                  given.text("phase").equals("before_commit") ? f.beforeCommit() : f.afterCommit()),
          Map.entry(
              "external_identifier",
              (f, given) -> f.externalIdentifier(given.text("external_identifier"))),
          Map.entry("object_id", (fault, given) -> fault.objectId(given.text("object_id"))),
          Map.entry("scenario", (fault, given) -> fault.scenario(given.text("scenario"))),
          Map.entry("operation", (fault, given) -> fault.operation(given.text("operation"))),
          Map.entry("method", (fault, given) -> fault.method(given.text("method"))),
          Map.entry("path", (fault, given) -> fault.path(given.text("path"))),
          Map.entry(
              "idempotency_key", (f, given) -> f.idempotencyKey(given.text("idempotency_key"))),
          Map.entry("event_type", (fault, given) -> fault.eventType(given.text("event_type"))),
          Map.entry("attempt", (fault, given) -> fault.attempt(given.number("attempt"))));
  private static final Set<String> DURATIONS =
      Set.of("reset", "hold", "over", "for", "spacing", "patience", "lead", "age");

  private static Fault fault(Given given) throws ReflectiveOperationException {
    JsonNode effect = given.json("effect");
    Given attributes = effect.isObject() ? new Given(effect) : given;
    String type = effect.isObject() ? attributes.text("type") : effect.textValue();
    Fault fault = made(type, attributes);
    if (attributes == given) {
      for (String name : given.rest()) {
        if (FAULT_MEMBERS.containsKey(name)) {
          fault = FAULT_MEMBERS.get(name).apply(fault, given);
        }
      }
    }
    for (String name : attributes.rest()) {
      Object value =
          DURATIONS.contains(name) ? attributes.duration(name) : plain(attributes.json(name));
      fault = fault.attribute(name, value);
    }
    for (String name : given.rest()) {
      fault = FAULT_MEMBERS.get(name).apply(fault, given);
    }
    return fault;
  }

  /** Calls the method of an effect. */
  private static Fault made(String type, Given given) throws ReflectiveOperationException {
    return switch (type) {
      case "error" -> Fault.error(given.number("status"));
      case "latency" -> latency(given);
      case "delay" -> Fault.delay(given.duration("fixed"));
      case "redirect" -> Fault.redirect(given.url("to"));
      case "remove_method" -> Fault.removeMethod(given.text("method"));
      case "amount_drift" -> Fault.amountDrift(new BigDecimal(given.text("by")));
      case "currency_drift" -> Fault.currencyDrift(given.text("to"));
      case "signature" -> Fault.signature(given.text("mode"));
      case "payload" -> Fault.payload(given.text("mode"));
      case "formatting" -> Fault.formatting(given.text("mode"));
      case "schedule" -> Fault.schedule(given.number("attempts"));
      default -> (Fault) Fault.class.getMethod(camelCase(type)).invoke(null);
    };
  }

  private static Fault latency(Given given) {
    if (given.has("uniform")) {
      JsonNode limits = given.json("uniform");
      return Fault.latency(duration(limits.path(0).asText()), duration(limits.path(1).asText()));
    }
    return given.has("fixed") ? Fault.latency(given.duration("fixed")) : Fault.of("latency");
  }

  private static String camelCase(String name) {
    StringBuilder text = new StringBuilder();
    for (String word : name.split("_")) {
      text.append(
          text.isEmpty() ? word : Character.toUpperCase(word.charAt(0)) + word.substring(1));
    }
    return text.toString();
  }

  private static Count count(Given given) {
    if (given.has("count")) {
      return Count.exactly(given.number("count"));
    }
    return given.has("at_least")
        ? Count.between(given.number("at_least"), given.number("at_most"))
        : null;
  }

  private static RequestMatch requestMatch(Given given) {
    RequestMatch match = RequestMatch.request();
    for (String name : given.rest()) {
      match =
          switch (name) {
            case "operation" -> match.operation(given.text(name));
            case "method" -> match.method(given.text(name));
            case "path" -> match.path(given.text(name));
            case "status" -> match.status(given.number(name));
            case "external_identifier" -> match.externalIdentifier(given.text(name));
            case "object_id" -> match.objectId(given.text(name));
            case "idempotency_key" -> match.idempotencyKey(given.text(name));
            case "verdict" -> match.verdict(Verdict.valueOf(upper(given.text(name))));
            case "headers" ->
                match.headers(Map.of("X-Shop", given.json(name).path("X-Shop").textValue()));
            case "body" -> match.body(given.map(name));
            default -> throw new AssertionError(name);
          };
    }
    return match;
  }

  private static DeliveryMatch deliveryMatch(Given given) {
    DeliveryMatch match = DeliveryMatch.delivery();
    for (String name : given.rest()) {
      match =
          switch (name) {
            case "type" -> match.type(given.text(name));
            case "object_id" -> match.objectId(given.text(name));
            case "external_identifier" -> match.externalIdentifier(given.text(name));
            case "status" -> match.status(DeliveryStatus.valueOf(upper(given.text(name))));
            case "attempt_count" -> match.attemptCount(given.number(name));
            default -> throw new AssertionError(name);
          };
    }
    return match;
  }

  private static String upper(String name) {
    return name.toUpperCase(Locale.ROOT);
  }

  private interface Matcher<M> {
    M match(Given given);
  }

  private static <M extends Spec<M>> void verify(
      Journal<M, ?> journal, Given given, Matcher<M> matcher) {
    if (given.has("sequence")) {
      journal.verifySequence(sequence(given, matcher));
      return;
    }
    Count count = count(given);
    M match = matcher.match(given);
    if (count == null) {
      journal.verify(match);
    } else {
      journal.verify(match, count);
    }
  }

  private static <M extends Spec<M>> void await(
      Journal<M, ?> journal, Given given, Matcher<M> matcher) {
    Duration timeout = given.has("timeout") ? given.duration("timeout") : null;
    if (given.has("sequence")) {
      journal.awaitSequence(sequence(given, matcher), timeout);
      return;
    }
    Count count = count(given);
    M match = matcher.match(given);
    if (timeout != null && count != null) {
      journal.await(match, count, timeout);
    } else if (timeout != null) {
      journal.await(match, timeout);
    } else if (count != null) {
      journal.await(match, count);
    } else {
      journal.await(match);
    }
  }

  private static <M> List<M> sequence(Given given, Matcher<M> matcher) {
    List<M> matches = new ArrayList<>();
    given.json("sequence").forEach(each -> matches.add(matcher.match(new Given(each))));
    return matches;
  }

  private static SandboxOptions options(Given given) {
    SandboxOptions options = SandboxOptions.options();
    for (String name : given.rest()) {
      options =
          switch (name) {
            case "id" -> options.id(given.text(name));
            case "seed" -> options.seed(given.json(name).longValue());
            case "clock" ->
                given.json(name).isTextual()
                    ? options.clock(mode(given.text(name)))
                    : options.clock(clock(new Given(given.json(name))));
            case "notification_url" -> options.notificationUrl(given.url(name));
            case "scenario" -> options.scenario(given.text(name));
            case "settings" -> options.settings(given.map(name));
            case "business_key" -> options.businessKey(given.text(name));
            case "business_secret" -> options.businessSecret(given.text(name));
            case "webhook_secret" -> options.webhookSecret(given.text(name));
            case "ttl" -> options.ttl(given.json(name).isNull() ? null : given.duration(name));
            case "labels" -> options.labels(given.texts(name));
            default -> throw new AssertionError(name);
          };
    }
    return options;
  }

  private static ClockMode mode(String name) {
    return ClockMode.valueOf(upper(name));
  }

  private static ClockSpec clock(Given given) {
    ClockSpec clock = ClockSpec.of(mode(given.text("mode")));
    for (String name : given.rest()) {
      clock =
          name.equals("start")
              ? clock.start(given.instant(name))
              : clock.rate(given.json(name).doubleValue());
    }
    return clock;
  }

  private static void advance(Clock clock, Given given) {
    if (given.has("to")) {
      clock.advanceTo(given.instant("to"));
    } else if (given.has("until_idle")) {
      assertTrue(given.json("until_idle").booleanValue());
      clock.advanceUntilIdle();
    } else if (given.has("limit")) {
      clock.advance(given.duration("by"), given.number("limit"));
    } else {
      clock.advance(given.duration("by"));
    }
  }

  private static void reset(Sandbox sandbox, Given given) {
    if (given.has("same_ids")) {
      assertTrue(given.json("same_ids").booleanValue());
      sandbox.resetWithSameIds();
      return;
    }
    List<String> scope = new ArrayList<>();
    given.json("scope").forEach(each -> scope.add(each.asText()));
    sandbox.reset(scope.toArray(String[]::new));
  }

  private static void changeFault(Faults faults, Given given) throws ReflectiveOperationException {
    String id = given.text("fault_id");
    Fault changes;
    if (given.has("effect")) {
      changes =
          Fault.error(given.json("effect").path("status").intValue())
              .operation(given.json("match").path("operation").asText());
    } else {
      assertTrue(given.json("times").isNull());
      changes = Fault.changes().enabled(given.json("enabled").booleanValue()).with("times", null);
    }
    faults.change(id, changes);
  }

  private static void setQuota(RateLimit rateLimit, Given given) {
    Quota quota = Quota.of(given.number("limit"));
    for (String name : given.rest()) {
      quota =
          switch (name) {
            case "window" -> quota.window(given.duration(name));
            case "reset_unit" -> quota.resetUnit(given.text(name));
            case "clock" -> quota.clock(given.text(name));
            case "headers" -> quota.headers(given.text(name));
            default -> throw new AssertionError(name);
          };
    }
    rateLimit.set(quota);
  }

  private static void changeWebhook(Webhook webhook, Given given) {
    if (given.has("secret")) {
      webhook.change(given.url("notification_url"), given.text("secret"));
    } else {
      webhook.change(given.url("notification_url"));
    }
  }

  private static void transition(Resources resources, Given given) {
    Transition transition = Transition.to(given.text("to"));
    if (given.has("failure")) {
      JsonNode failure = given.json("failure");
      transition =
          transition.failure(failure.path("code").asText(), failure.path("message").asText());
    }
    if (given.has("force")) {
      assertTrue(given.json("force").booleanValue());
      transition = transition.force();
    }
    resources.transition(given.text("object_id"), transition);
  }

  private static void refund(PayIns payIns, Given given) {
    Refund refund = Refund.ofAll();
    if (given.has("amount")) {
      refund = Refund.of(new BigDecimal(given.json("amount").asText()));
      refund = refund.reason(given.text("reason"));
    }
    payIns.refund(given.text("pay_in_id"), refund);
  }

  private static void dispute(PayIns payIns, Given given) {
    Dispute dispute = Dispute.ofAll();
    if (given.has("amount")) {
      dispute = Dispute.of(new BigDecimal(given.json("amount").asText()));
      dispute = dispute.reason(given.text("reason")).force();
      assertTrue(given.json("force").booleanValue());
    }
    payIns.dispute(given.text("pay_in_id"), dispute);
  }

  private static void play(Scenarios scenarios, Given given) {
    String name = given.text("name");
    Map<String, Object> deposit = new LinkedHashMap<>();
    given.rest().forEach(member -> deposit.put(member, plain(given.json(member))));
    scenarios.play(name, deposit);
  }

  private static void upload(Scenarios scenarios, Given given) {
    if (given.json("scenario").isTextual()) {
      scenarios.upload(given.text("scenario"));
    } else {
      scenarios.upload(given.map("scenario"));
    }
  }

  private static final Map<String, Replay> CALLS =
      Map.ofEntries(
          Map.entry("server.health", (at, given) -> at.server().health()),
          Map.entry("server.sandbox", (at, given) -> at.server().sandbox(options(given))),
          Map.entry("server.find", (at, given) -> at.server().find(given.text("sandbox_id"))),
          Map.entry(
              "server.sandboxes",
              (at, given) -> {
                if (given.has("labels")) {
                  at.server().sandboxes(given.texts("labels"));
                } else {
                  at.server().sandboxes();
                }
              }),
          Map.entry("server.unclaimed_requests", (at, given) -> at.server().unclaimedRequests()),
          Map.entry("sandbox.read", (at, given) -> at.sandbox().read()),
          Map.entry("sandbox.change", (at, given) -> at.sandbox().change(options(given))),
          Map.entry("sandbox.reset", (at, given) -> reset(at.sandbox(), given)),
          Map.entry("sandbox.checkpoint", (at, given) -> at.sandbox().checkpoint()),
          Map.entry(
              "sandbox.fork",
              (at, given) -> {
                if (given.has("checkpoint")) {
                  at.sandbox().fork(given.text("checkpoint"), options(given));
                } else {
                  at.sandbox().fork();
                }
              }),
          Map.entry(
              "sandbox.export",
              (at, given) -> at.sandbox().export(files.resolve(given.text("path")))),
          Map.entry(
              "sandbox.export_text",
              (at, given) -> at.sandbox().exportText(given.json("raw").booleanValue())),
          Map.entry("sandbox.delete", (at, given) -> at.sandbox().delete()),
          Map.entry("clock.read", (at, given) -> at.sandbox().clock().read()),
          Map.entry("clock.set", (at, given) -> at.sandbox().clock().set(clock(given))),
          Map.entry("clock.advance", (at, given) -> advance(at.sandbox().clock(), given)),
          Map.entry("faults.add", (at, given) -> at.sandbox().faults().add(fault(given))),
          Map.entry("faults.list", (at, given) -> at.sandbox().faults().list()),
          Map.entry("faults.get", (at, given) -> at.sandbox().faults().get(given.text("fault_id"))),
          Map.entry("faults.change", (at, given) -> changeFault(at.sandbox().faults(), given)),
          Map.entry(
              "faults.remove", (at, given) -> at.sandbox().faults().remove(given.text("fault_id"))),
          Map.entry("faults.clear", (at, given) -> at.sandbox().faults().clear()),
          Map.entry("rate_limit.set", (at, given) -> setQuota(at.sandbox().rateLimit(), given)),
          Map.entry("rate_limit.clear", (at, given) -> at.sandbox().rateLimit().clear()),
          Map.entry("requests.list", (at, given) -> at.sandbox().requests().list()),
          Map.entry("requests.last", (at, given) -> at.sandbox().requests().last()),
          Map.entry("requests.clear", (at, given) -> at.sandbox().requests().clear()),
          Map.entry(
              "requests.verify",
              (at, given) -> verify(at.sandbox().requests(), given, CallsTest::requestMatch)),
          Map.entry(
              "requests.wait",
              (at, given) -> await(at.sandbox().requests(), given, CallsTest::requestMatch)),
          Map.entry(
              "events.list",
              (at, given) ->
                  at.sandbox().events().list(given.text("type"), given.text("object_id"))),
          Map.entry("events.last", (at, given) -> at.sandbox().events().last()),
          Map.entry("events.get", (at, given) -> at.sandbox().events().get(given.text("event_id"))),
          Map.entry(
              "events.emit",
              (at, given) ->
                  at.sandbox().events().emit(given.text("type"), given.text("object_id"))),
          Map.entry(
              "deliveries.list",
              (at, given) -> at.sandbox().deliveries().list(deliveryMatch(given))),
          Map.entry("deliveries.last", (at, given) -> at.sandbox().deliveries().last()),
          Map.entry(
              "deliveries.get",
              (at, given) -> at.sandbox().deliveries().get(given.text("delivery_id"))),
          Map.entry(
              "deliveries.redeliver",
              (at, given) -> at.sandbox().deliveries().redeliver(given.text("delivery_id"))),
          Map.entry(
              "deliveries.redeliver_failed",
              (at, given) -> {
                if (given.has("since")) {
                  at.sandbox().deliveries().redeliverFailed(given.instant("since"));
                } else {
                  at.sandbox().deliveries().redeliverFailed();
                }
              }),
          Map.entry(
              "deliveries.hold",
              (at, given) -> at.sandbox().deliveries().hold(given.text("delivery_id"))),
          Map.entry(
              "deliveries.release",
              (at, given) -> at.sandbox().deliveries().release(given.text("delivery_id"))),
          Map.entry(
              "deliveries.verify",
              (at, given) -> verify(at.sandbox().deliveries(), given, CallsTest::deliveryMatch)),
          Map.entry(
              "deliveries.wait",
              (at, given) -> await(at.sandbox().deliveries(), given, CallsTest::deliveryMatch)),
          Map.entry("webhook.read", (at, given) -> at.sandbox().webhook().read()),
          Map.entry("webhook.change", (at, given) -> changeWebhook(at.sandbox().webhook(), given)),
          Map.entry(
              "webhook.rotate_secret",
              (at, given) -> {
                if (given.has("grace")) {
                  at.sandbox().webhook().rotateSecret(given.duration("grace"));
                } else {
                  at.sandbox().webhook().rotateSecret();
                }
              }),
          Map.entry(
              "webhook.test",
              (at, given) -> {
                if (given.has("type")) {
                  at.sandbox().webhook().test(given.text("type"));
                } else {
                  at.sandbox().webhook().test();
                }
              }),
          Map.entry("scenarios.list", (at, given) -> at.sandbox().scenarios().list()),
          Map.entry(
              "scenarios.get", (at, given) -> at.sandbox().scenarios().get(given.text("name"))),
          Map.entry("scenarios.active", (at, given) -> at.sandbox().scenarios().active()),
          Map.entry("scenarios.upload", (at, given) -> upload(at.sandbox().scenarios(), given)),
          Map.entry(
              "scenarios.activate",
              (at, given) -> at.sandbox().scenarios().activate(given.text("name"))),
          Map.entry("scenarios.deactivate", (at, given) -> at.sandbox().scenarios().deactivate()),
          Map.entry("scenarios.play", (at, given) -> play(at.sandbox().scenarios(), given)),
          Map.entry("pay_ins.list", (at, given) -> at.sandbox().payIns().list()),
          Map.entry(
              "pay_ins.get", (at, given) -> at.sandbox().payIns().get(given.text("pay_in_id"))),
          Map.entry(
              "pay_ins.timeline_html",
              (at, given) -> at.sandbox().payIns().timelineHtml(given.text("pay_in_id"))),
          Map.entry("pay_ins.transition", (at, given) -> transition(at.sandbox().payIns(), given)),
          Map.entry("pay_ins.refund", (at, given) -> refund(at.sandbox().payIns(), given)),
          Map.entry("pay_ins.dispute", (at, given) -> dispute(at.sandbox().payIns(), given)),
          Map.entry("payer.pay", (at, given) -> at.sandbox().payer(given.text("pay_in")).pay()),
          Map.entry(
              "payer.decline",
              (at, given) -> {
                Payer payer = at.sandbox().payer(given.text("pay_in"));
                if (given.has("code")) {
                  payer.decline(given.text("code"));
                } else {
                  payer.decline();
                }
              }),
          Map.entry(
              "payer.abandon", (at, given) -> at.sandbox().payer(given.text("pay_in")).abandon()),
          Map.entry("refunds.transition", (at, given) -> transition(at.sandbox().refunds(), given)),
          Map.entry(
              "disputes.transition", (at, given) -> transition(at.sandbox().disputes(), given)),
          Map.entry(
              "payouts.transition", (at, given) -> transition(at.sandbox().payouts(), given)));
}
