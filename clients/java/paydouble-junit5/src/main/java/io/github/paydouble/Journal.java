package io.github.paydouble;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A record of what happened in a sandbox, about which a test can ask.
 *
 * @param <M> what matches a record
 * @param <R> a record
 */
public abstract sealed class Journal<M extends Spec<M>, R> permits Requests, Deliveries {
  private static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(5);

  final Control control;
  final String path;
  private final String what;
  private final Class<R> type;

  Journal(Control control, String path, String what, Class<R> type) {
    this.control = control;
    this.path = path;
    this.what = what;
    this.type = type;
  }

  /** {@return all records that are kept, oldest first} */
  public final List<R> list() {
    return list(Map.of());
  }

  final List<R> list(Map<String, ?> query) {
    return control.list(type, path, query);
  }

  /**
   * Returns the newest record.
   *
   * @return the record
   * @throws AssertionError when there is none
   */
  public final R last() {
    return last(list(), what);
  }

  /**
   * Checks that at least one record matches.
   *
   * @param match what it is like
   * @return how many match
   * @throws AssertionError when none does, with the near misses
   */
  public final int verify(M match) {
    return ask("verify", Map.of("match", match.members()), null);
  }

  /**
   * Checks how many records match.
   *
   * @param match what they are like
   * @param count how many are expected
   * @return how many match
   * @throws AssertionError when the number differs, with the near misses
   */
  public final int verify(M match, Count count) {
    return ask("verify", question(match, count), null);
  }

  /**
   * Checks that records match in this order, with others in between.
   *
   * @param matches what they are like, the oldest first
   * @return how many match
   * @throws AssertionError when the sequence is incomplete, with the near misses
   */
  public final int verifySequence(List<M> matches) {
    return ask("verify", sequence(matches), null);
  }

  /**
   * Waits until at least one record matches, for at most 5 s of real time.
   *
   * @param match what it is like
   * @return how many match
   * @throws AssertionError when none does in time, with the near misses
   */
  public final int await(M match) {
    return await(match, DEFAULT_TIMEOUT);
  }

  /**
   * Waits until at least one record matches.
   *
   * @param match what it is like
   * @param timeout how long to wait, in real time; at most 10 minutes
   * @return how many match
   * @throws AssertionError when none does in time, with the near misses
   */
  public final int await(M match, Duration timeout) {
    return ask("wait", Map.of("match", match.members()), timeout);
  }

  /**
   * Waits until a number of records match, for at most 5 s of real time.
   *
   * @param match what they are like
   * @param count how many are expected
   * @return how many match
   * @throws AssertionError when it does not hold in time, with the near misses
   */
  public final int await(M match, Count count) {
    return await(match, count, DEFAULT_TIMEOUT);
  }

  /**
   * Waits until a number of records match.
   *
   * @param match what they are like
   * @param count how many are expected
   * @param timeout how long to wait, in real time; at most 10 minutes
   * @return how many match
   * @throws AssertionError when it does not hold in time, with the near misses
   */
  public final int await(M match, Count count, Duration timeout) {
    return ask("wait", question(match, count), timeout);
  }

  /**
   * Waits until records match in this order, with others in between.
   *
   * @param matches what they are like, the oldest first
   * @param timeout how long to wait, in real time; at most 10 minutes
   * @return how many match
   * @throws AssertionError when it does not hold in time, with the near misses
   */
  public final int awaitSequence(List<M> matches, Duration timeout) {
    return ask("wait", sequence(matches), timeout);
  }

  static <T> T last(List<T> records, String what) {
    if (records.isEmpty()) {
      throw new AssertionError("there are no %s at all".formatted(what));
    }
    return records.get(records.size() - 1);
  }

  private Map<String, Object> question(M match, Count count) {
    return Spec.added(count.members(), "match", match.members());
  }

  private Map<String, Object> sequence(List<M> matches) {
    return Map.of("sequence", matches.stream().map(Spec::members).toList());
  }

  private int ask(String call, Map<String, Object> question, Duration timeout) {
    Map<String, Object> body = new LinkedHashMap<>(question);
    Duration patience = Control.PATIENCE;
    if (timeout != null) {
      body.put("timeout", timeout);
      patience = patience.plus(timeout);
    }
    JsonNode verdict = control.call("POST", path + "/" + call, body, patience);
    if (!verdict.path("passed").asBoolean()) {
      throw new AssertionError(explain(question, timeout, verdict));
    }
    return verdict.path("count").asInt();
  }

  private String explain(Map<String, Object> question, Duration timeout, JsonNode verdict) {
    StringBuilder text = new StringBuilder("expected ").append(verdict.path("expected").asText());
    text.append(" of the ").append(what);
    if (question.get("match") instanceof Map<?, ?> match && !match.isEmpty()) {
      text.append(" with ").append(new Body(Json.write(match)));
    }
    text.append(", found ").append(verdict.path("count").asInt());
    if (verdict.path("timed_out").asBoolean()) {
      text.append(" within ").append(Json.format(timeout));
    }
    for (JsonNode miss : verdict.path("closest")) {
      text.append("\n  close: ").append(miss.path("id").asText());
      for (String member : List.of("method", "target", "event_type", "object_id")) {
        if (miss.hasNonNull(member)) {
          text.append(' ').append(miss.path(member).asText());
        }
      }
      for (JsonNode each : miss.path("differences")) {
        text.append(
            "\n    %s: wanted %s, got %s"
                .formatted(each.path("member").asText(), each.path("wanted"), each.path("got")));
      }
    }
    if (verdict.path("closest").isEmpty() && verdict.path("count").asInt() == 0) {
      text.append("\n  there are no ").append(what).append(" at all");
    }
    if (verdict.has("note")) {
      text.append("\n  ").append(verdict.path("note").asText());
    }
    return text.toString();
  }
}
