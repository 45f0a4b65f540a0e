package io.github.paydouble;

import java.time.Instant;
import java.util.List;

/**
 * One event on its way to one target.
 *
 * @param id its id
 * @param eventId the id of the event
 * @param eventType the type of the event
 * @param objectId the id of the object that the event is about
 * @param target the URL that it goes to; null without one
 * @param status how far it is
 * @param nextDueAt when the next attempt is due, on the sandbox's clock; null unless it is waiting
 * @param faults the ids of the faults that acted on it
 * @param attempts every attempt so far
 */
public record Delivery(
    String id,
    String eventId,
    String eventType,
    String objectId,
    String target,
    DeliveryStatus status,
    Instant nextDueAt,
    List<String> faults,
    List<Attempt> attempts) {

  /**
   * One POST to a receiver.
   *
   * @param number 1 for the first
   * @param dueAt when it was due, on the sandbox's clock
   * @param sentAt when it was sent, in real time; null until it has an outcome
   * @param signedAt the time of the signature, in Unix seconds
   * @param headers the headers that were sent
   * @param body the bytes that were sent
   * @param status the receiver's status; null without an answer
   * @param error why no answer came; null with one
   * @param latencyMs real time until the answer or the error, in milliseconds; null before
   * @param responseHeaders the headers of the answer
   * @param responseBody the beginning of the answer; null without one
   * @param faults the ids of the faults that acted on it
   * @param sequence its place in the order of what happened in the sandbox
   */
  public record Attempt(
      int number,
      Instant dueAt,
      Instant sentAt,
      long signedAt,
      List<Header> headers,
      Body body,
      Integer status,
      AttemptError error,
      Double latencyMs,
      List<Header> responseHeaders,
      Body responseBody,
      List<String> faults,
      long sequence) {}

  /**
   * Why an attempt got no answer.
   *
   * @param kind a name, such as {@code refused} or {@code timeout}
   * @param message the same as a sentence
   */
  public record AttemptError(String kind, String message) {}
}
