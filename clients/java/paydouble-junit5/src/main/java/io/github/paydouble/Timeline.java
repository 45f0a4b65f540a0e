package io.github.paydouble;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Renders what has happened in a sandbox. */
final class Timeline {
  private static final int MOST_ROWS = 200;

  /** One line, and its place in the order of what happened; on a manual clock times are equal. */
  private record Row(long sequence, String text) {}

  private Timeline() {}

  static String of(Sandbox sandbox) {
    List<Row> rows = new ArrayList<>();
    for (RecordedRequest request : sandbox.requests().list()) {
      rows.add(new Row(request.sequence(), line(request)));
    }
    for (Event event : sandbox.events().list()) {
      rows.add(
          new Row(
              event.sequence(),
              "%s  event    %s %s"
                  .formatted(event.createdAt(), event.type(), order(event.body().json(), event))));
    }
    for (Delivery delivery : sandbox.deliveries().list()) {
      for (Delivery.Attempt attempt : delivery.attempts()) {
        rows.add(new Row(attempt.sequence(), line(delivery, attempt)));
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
    rows.subList(hidden, rows.size()).forEach(row -> lines.add(row.text()));
    for (ArmedFault fault : sandbox.faults().list()) {
      String fired = fault.timesFired() == 0 ? "never" : fault.timesFired() + " times";
      lines.add(
          "fault %s (%s) fired: %s"
              .formatted(fault.id(), fault.effect().path("type").asText(), fired));
    }
    return String.join("\n", lines);
  }

  private static String line(RecordedRequest request) {
    String status = request.status() == null ? "no answer" : request.status().toString();
    return "%s  request  %s %s → %s, key: %s%s"
        .formatted(
            request.at(),
            request.method(),
            request.target(),
            status,
            verdict(request),
            faults(request.faults()));
  }

  private static String line(Delivery delivery, Delivery.Attempt attempt) {
    String outcome = "in flight";
    if (attempt.status() != null) {
      outcome = attempt.status().toString();
    } else if (attempt.error() != null) {
      outcome = attempt.error().message();
    }
    return "%s  attempt  %s number %d to %s → %s%s"
        .formatted(
            attempt.dueAt(),
            delivery.eventType(),
            attempt.number(),
            delivery.target(),
            outcome,
            faults(attempt.faults()));
  }

  private static String order(JsonNode event, Event of) {
    return event.path("data").path("object").path("external_identifier").asText(of.objectId());
  }

  /** A newer server may have a verdict that this client does not know. */
  private static String verdict(RecordedRequest request) {
    Verdict verdict = request.idempotency().verdict();
    return verdict == null ? "unknown" : Json.name(verdict);
  }

  private static String faults(List<String> ids) {
    return ids.isEmpty() ? "" : ", faults: " + String.join(" ", ids);
  }
}
