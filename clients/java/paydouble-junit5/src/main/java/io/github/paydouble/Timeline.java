package io.github.paydouble;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Renders what has happened in a sandbox. */
final class Timeline {
  private static final int MOST_ROWS = 200;
  private static final int LONGEST_REFUSAL = 200;
  private static final int FIRST_ERROR = 400;

  /** One line, and its place in the order of what happened; on a manual clock times are equal. */
  private record Row(long sequence, Instant at, String text) {}

  private final Map<String, String> orders = new HashMap<>();
  private final List<Row> rows = new ArrayList<>();

  private Timeline() {}

  static String of(Sandbox sandbox) {
    return new Timeline().render(sandbox);
  }

  private String render(Sandbox sandbox) {
    for (RecordedRequest request : sandbox.requests().list()) {
      rows.add(new Row(request.sequence(), request.at(), text(request)));
    }
    List<Event> events = sandbox.events().list();
    for (Event event : events) {
      orders.put(event.objectId(), orderOf(event.body(), event.objectId()));
    }
    List<Delivery> deliveries = sandbox.deliveries().list();
    for (Event event : events) {
      rows.add(new Row(event.sequence(), event.createdAt(), text(event, deliveries)));
    }
    for (Delivery delivery : deliveries) {
      for (Delivery.Attempt attempt : delivery.attempts()) {
        rows.add(new Row(attempt.sequence(), attempt.dueAt(), text(delivery, attempt)));
      }
    }
    rows.sort(Comparator.comparingLong(Row::sequence));
    List<String> lines = new ArrayList<>();
    if (rows.isEmpty()) {
      lines.add("nothing has happened: no request came with business key " + sandbox.businessKey());
    }
    int hidden = Math.max(0, rows.size() - MOST_ROWS);
    if (hidden > 0) {
      lines.add("… %d earlier lines are left out".formatted(hidden));
    }
    for (Row row : rows.subList(hidden, rows.size())) {
      Duration elapsed = Duration.between(rows.get(0).at(), row.at());
      // A test may have set the clock back.
      String since = elapsed.isNegative() ? "-" + Json.format(elapsed.negated()) : plus(elapsed);
      lines.add("%-9s %s".formatted(since, row.text()).stripTrailing());
    }
    sandbox.faults().list().forEach(fault -> lines.add(text(fault)));
    // What others have sent must not control the terminal.
    lines.replaceAll(line -> line.replaceAll("\\p{Cntrl}", "?"));
    return String.join("\n", lines);
  }

  private static String plus(Duration elapsed) {
    return "+" + Json.format(elapsed);
  }

  private static String text(RecordedRequest request) {
    String target = request.target().replaceFirst("^/api/v1", "");
    String order = orderOf(request.body(), "");
    String status = request.status() == null ? "no answer" : request.status().toString();
    boolean refused = request.status() != null && request.status() >= FIRST_ERROR;
    return "merchant →  %s %s%s  %s%s%s%s"
        .formatted(
            request.method(),
            target,
            order.isEmpty() ? "" : " " + order,
            status,
            verdict(request),
            faults(request.faults()),
            refused ? " " + refusal(request.responseBody()) : "");
  }

  private String text(Event event, List<Delivery> deliveries) {
    // How it left, where its attempts do not say it.
    List<String> unsent =
        deliveries.stream()
            .filter(each -> each.eventId().equals(event.id()) && each.attempts().isEmpty())
            .map(each -> status(each) + faults(each.faults()))
            .toList();
    return "service     %s %s  %s"
        .formatted(event.type(), orders.get(event.objectId()), String.join(", ", unsent));
  }

  private String text(Delivery delivery, Delivery.Attempt attempt) {
    String outcome = "in flight";
    if (attempt.status() != null) {
      outcome = attempt.status().toString();
    } else if (attempt.error() != null) {
      outcome = attempt.error().kind();
    }
    return "→ merchant  %s %s, attempt %d  %s%s"
        .formatted(
            delivery.eventType(),
            orders.getOrDefault(delivery.objectId(), delivery.objectId()),
            attempt.number(),
            outcome,
            faults(attempt.faults()));
  }

  private static String text(ArmedFault fault) {
    String outcome =
        fault.timesFired() > 0
            ? "fired " + times(fault.timesFired())
            : "never fired; it matched "
                + (fault.timesMatched() > 0 ? times(fault.timesMatched()) : "nothing");
    return "fault %s (%s) %s".formatted(fault.id(), fault.effect().path("type").asText(), outcome);
  }

  private static String times(int count) {
    return count == 1 ? "once" : count + " times";
  }

  /** Returns code and message of a refusal, or the beginning of another body. */
  private static String refusal(Body body) {
    if (body == null) {
      return "";
    }
    JsonNode found = body.json();
    JsonNode error = found.path("error").isObject() ? found.path("error") : found;
    if (error.path("message").isTextual()) {
      return "%s: %s".formatted(error.path("code").asText(), error.path("message").asText());
    }
    String text = body.text();
    return text.substring(0, Math.min(text.length(), LONGEST_REFUSAL));
  }

  /** Returns the merchant's name for the payment that a body is about; without one, the other. */
  private static String orderOf(Body body, String other) {
    if (body == null) {
      return other;
    }
    JsonNode found = body.json();
    JsonNode object = found.path("data").path("object");
    JsonNode name = (object.isObject() ? object : found).path("external_identifier");
    return name.isTextual() ? name.textValue() : other;
  }

  /** A newer server may have a verdict or a state that this client does not know. */
  private static String verdict(RecordedRequest request) {
    Verdict verdict = request.idempotency().verdict();
    if (verdict == null) {
      return " unknown";
    }
    return verdict == Verdict.NONE ? "" : " " + Json.name(verdict);
  }

  private static String status(Delivery delivery) {
    return delivery.status() == null ? "unknown" : Json.name(delivery.status());
  }

  private static String faults(List<String> ids) {
    return ids.isEmpty() ? "" : " (" + String.join(", ", ids) + ")";
  }
}
