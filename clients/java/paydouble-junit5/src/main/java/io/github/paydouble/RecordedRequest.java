package io.github.paydouble;

import java.time.Instant;
import java.util.List;

/**
 * One request of the API and its answer.
 *
 * @param id its id
 * @param at when it arrived, on the sandbox's clock
 * @param method the HTTP method
 * @param path the path, without the query
 * @param target the path with the query, as it came
 * @param operation the name of the operation; null where no operation has this path
 * @param headers the headers, in their order
 * @param body the bytes that came
 * @param status what it was answered with; null while it is in flight
 * @param responseHeaders the headers of the answer
 * @param responseBody what it was answered with
 * @param idempotency what became of its key
 * @param faults the ids of the faults that acted on it
 * @param events the ids of the events that it caused
 * @param sequence its place in the order of what happened in the sandbox
 * @param businessKey of an unclaimed request, the business key that it had; else null
 */
public record RecordedRequest(
    String id,
    Instant at,
    String method,
    String path,
    String target,
    String operation,
    List<Header> headers,
    Body body,
    Integer status,
    List<Header> responseHeaders,
    Body responseBody,
    Idempotency idempotency,
    List<String> faults,
    List<String> events,
    long sequence,
    String businessKey) {

  /**
   * What became of an idempotency key.
   *
   * @param key the key; null without a valid one
   * @param verdict what it decided
   * @param bytesDiffer whether a replay's body meant the same in other bytes
   */
  public record Idempotency(String key, Verdict verdict, boolean bytesDiffer) {}
}
