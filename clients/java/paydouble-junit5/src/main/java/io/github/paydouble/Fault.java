package io.github.paydouble;

import java.math.BigDecimal;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * A fault: an effect, when it fires, and how often. Without a limit it fires at each match.
 *
 * <pre>{@code
 * Fault.connectionReset().operation("deposit-creation").afterCommit().times(1)
 * }</pre>
 *
 * <p>There is a method for each effect of the server; attributes that it does not take are set with
 * {@link #attribute}. The server refuses a combination that cannot be.
 */
public final class Fault extends Spec<Fault> {
  private Fault(Map<String, Object> members) {
    super(members);
  }

  /**
   * Returns a fault with an effect of any name.
   *
   * @param effect the name in the control API, such as {@code connection_reset}
   * @return the fault
   */
  public static Fault of(String effect) {
    return changes().attribute("type", effect);
  }

  /** {@return changes of a fault, without an effect: for {@link Faults#change}} */
  public static Fault changes() {
    return new Fault(Map.of());
  }

  // On the API

  /**
   * Returns a fault that answers with an error.
   *
   * @param status from 400 to 599
   * @return the fault
   */
  public static Fault error(int status) {
    return of("error").attribute("status", status);
  }

  /** {@return a fault that answers a single 429; its attributes change the headers} */
  public static Fault rateLimit() {
    return of("rate_limit");
  }

  /**
   * Returns a fault that delays answers.
   *
   * @param fixed the delay, in real time
   * @return the fault
   */
  public static Fault latency(Duration fixed) {
    return of("latency").attribute("fixed", fixed);
  }

  /**
   * Returns a fault that delays answers by random times.
   *
   * @param low the shortest delay, in real time
   * @param high the longest
   * @return the fault
   */
  public static Fault latency(Duration low, Duration high) {
    return of("latency").attribute("uniform", List.of(low, high));
  }

  /** {@return a fault that never answers} */
  public static Fault noResponse() {
    return of("no_response");
  }

  /** {@return a fault that resets the connection; {@link #onWebhooks} for that of a delivery} */
  public static Fault connectionReset() {
    return of("connection_reset");
  }

  /** {@return a fault that closes the connection before any byte of an answer} */
  public static Fault emptyResponse() {
    return of("empty_response");
  }

  /** {@return a fault that sends a part of the answer, and closes the connection} */
  public static Fault truncate() {
    return of("truncate");
  }

  /** {@return a fault that sends a wrong Content-Length} */
  public static Fault wrongContentLength() {
    return of("wrong_content_length");
  }

  /** {@return a fault that sends a body slowly; {@link #onWebhooks} for that of a delivery} */
  public static Fault slowBody() {
    return of("slow_body");
  }

  /** {@return a fault that answers with bytes that are not HTTP} */
  public static Fault garbage() {
    return of("garbage");
  }

  /** {@return a fault that answers with the HTML page of a proxy} */
  public static Fault htmlError() {
    return of("html_error");
  }

  /**
   * Returns a fault that redirects to another address.
   *
   * @param to the address
   * @return the fault
   */
  public static Fault redirect(URI to) {
    return of("redirect").attribute("to", to);
  }

  /** {@return a fault that answers a 5xx which is stored under the key} */
  public static Fault sticky5xx() {
    return of("sticky_5xx");
  }

  /** {@return a fault that does not record the key, so that a retry is carried out again} */
  public static Fault lostRecord() {
    return of("lost_record");
  }

  /** {@return a fault that answers 409 to an identical body} */
  public static Fault forceConflict() {
    return of("force_conflict");
  }

  /** {@return a fault that shows an older state} */
  public static Fault staleRead() {
    return of("stale_read");
  }

  /** {@return a fault that does not find what was just created} */
  public static Fault notFoundYet() {
    return of("not_found_yet");
  }

  /** {@return a fault that adds members which no version of the API has} */
  public static Fault unknownMembers() {
    return of("unknown_members");
  }

  /** {@return a fault that shows a status which no version of the API has} */
  public static Fault unknownStatus() {
    return of("unknown_status");
  }

  /** {@return a fault that answers with an error code which is in no catalogue} */
  public static Fault unknownCode() {
    return of("unknown_code");
  }

  /** {@return a fault that lets quotes expire} */
  public static Fault expireRate() {
    return of("expire_rate");
  }

  /**
   * Returns a fault that removes a payment method.
   *
   * @param method its type or code; {@code *} for any
   * @return the fault
   */
  public static Fault removeMethod(String method) {
    return of("remove_method").attribute("method", method);
  }

  /**
   * Returns a fault that settles another amount than the requested one.
   *
   * @param by the difference, in the currency of the pay-in
   * @return the fault
   */
  public static Fault amountDrift(BigDecimal by) {
    return of("amount_drift").attribute("by", by.toPlainString());
  }

  /**
   * Returns a fault that settles the requested amount in another currency.
   *
   * @param to the code of the currency, such as {@code USD}
   * @return the fault
   */
  public static Fault currencyDrift(String to) {
    return of("currency_drift").attribute("to", to);
  }

  // On webhooks

  /**
   * Returns a fault that delays an event.
   *
   * @param fixed the delay, on the sandbox's clock
   * @return the fault
   */
  public static Fault delay(Duration fixed) {
    return of("delay").attribute("fixed", fixed);
  }

  /** {@return a fault that never sends an event} */
  public static Fault drop() {
    return of("drop");
  }

  /** {@return a fault that holds an event until it is released} */
  public static Fault hold() {
    return of("hold");
  }

  /** {@return a fault that sends an event twice} */
  public static Fault duplicate() {
    return of("duplicate");
  }

  /** {@return a fault that changes the order of events} */
  public static Fault reorder() {
    return of("reorder");
  }

  /** {@return a fault that sends an event before the answer of the API} */
  public static Fault beforeResponse() {
    return of("before_response");
  }

  /**
   * Returns a fault that changes the signature.
   *
   * @param mode such as {@code missing}, {@code wrong_secret} or {@code stale}
   * @return the fault
   */
  public static Fault signature(String mode) {
    return of("signature").attribute("mode", mode);
  }

  /** {@return a fault that changes a member after signing} */
  public static Fault tamper() {
    return of("tamper");
  }

  /**
   * Returns a fault that sends a body which is hard to process, validly signed.
   *
   * @param mode such as {@code invalid_json} or {@code huge}
   * @return the fault
   */
  public static Fault payload(String mode) {
    return of("payload").attribute("mode", mode);
  }

  /**
   * Returns a fault that sends the same JSON in other bytes.
   *
   * @param mode such as {@code pretty} or {@code key_order}
   * @return the fault
   */
  public static Fault formatting(String mode) {
    return of("formatting").attribute("mode", mode);
  }

  /** {@return a fault that gives two events of an object the same time} */
  public static Fault tie() {
    return of("tie");
  }

  /** {@return a fault that changes the body of an event from its second attempt on} */
  public static Fault changeOnResend() {
    return of("change_on_resend");
  }

  /** {@return a fault that sends an event of another business first} */
  public static Fault foreign() {
    return of("foreign");
  }

  /** {@return a fault that sends an event of the wrong environment} */
  public static Fault livemode() {
    return of("livemode");
  }

  /** {@return a fault that sends a body in chunks, without a Content-Length} */
  public static Fault chunked() {
    return of("chunked");
  }

  /**
   * Returns a fault that shortens the retry schedule.
   *
   * @param attempts how many attempts there are
   * @return the fault
   */
  public static Fault schedule(int attempts) {
    return of("schedule").attribute("attempts", attempts);
  }

  // What it acts on, and when

  /**
   * Sets an attribute of the effect.
   *
   * @param name the name in the control API, such as {@code envelope}
   * @param value a JSON value, or a {@link Duration}
   * @return a copy with this attribute
   */
  public Fault attribute(String name, Object value) {
    return inside("effect", name, value);
  }

  /**
   * Limits it to an operation.
   *
   * @param name the name of the operation, such as {@code deposit-creation}
   * @return a copy with this member
   */
  public Fault operation(String name) {
    return limited("operation", name);
  }

  /**
   * Limits it to a method.
   *
   * @param method {@code GET} or {@code POST}
   * @return a copy with this member
   */
  public Fault method(String method) {
    return limited("method", method);
  }

  /**
   * Limits it to a path.
   *
   * @param path the path with its prefix; {@code *} matches any characters
   * @return a copy with this member
   */
  public Fault path(String path) {
    return limited("path", path);
  }

  /**
   * Limits it to an idempotency key.
   *
   * @param key the key
   * @return a copy with this member
   */
  public Fault idempotencyKey(String key) {
    return limited("idempotency_key", key);
  }

  /**
   * Limits it to an order.
   *
   * @param order the merchant's name of the order
   * @return a copy with this member
   */
  public Fault externalIdentifier(String order) {
    return limited("external_identifier", order);
  }

  /**
   * Limits it to an object.
   *
   * @param id the id of the object
   * @return a copy with this member
   */
  public Fault objectId(String id) {
    return limited("object_id", id);
  }

  /**
   * Limits it to a scenario.
   *
   * @param name the scenario of the pay-in
   * @return a copy with this member
   */
  public Fault scenario(String name) {
    return limited("scenario", name);
  }

  /**
   * Limits it to a type of event.
   *
   * @param type the type of the event, such as {@code pay-in.*}
   * @return a copy with this member
   */
  public Fault eventType(String type) {
    return limited("event_type", type);
  }

  /**
   * Limits it to an attempt of a delivery.
   *
   * @param number the number of the attempt, from 1
   * @return a copy with this member
   */
  public Fault attempt(int number) {
    return limited("attempt", number);
  }

  /**
   * Sets its id.
   *
   * @param id the id; the server makes one otherwise
   * @return a copy with this member
   */
  public Fault id(String id) {
    return with("id", id);
  }

  /**
   * Sets its name.
   *
   * @param name a name, for people
   * @return a copy with this member
   */
  public Fault name(String name) {
    return with("name", name);
  }

  /**
   * Sets how often it fires.
   *
   * @param times how often it fires
   * @return a copy with this member
   */
  public Fault times(int times) {
    return with("times", times);
  }

  /**
   * Ignores the first matches.
   *
   * @param matches how many matches are ignored first
   * @return a copy with this member
   */
  public Fault skip(int matches) {
    return with("skip", matches);
  }

  /**
   * Fires at random, decided by the sandbox's seed.
   *
   * @param share the share of the matches that fire, from 0 to 1
   * @return a copy with this member
   */
  public Fault probability(double share) {
    return with("probability", share);
  }

  /**
   * Ends it after a time.
   *
   * @param ttl how long it is active, on the sandbox's clock
   * @return a copy with this member
   */
  public Fault ttl(Duration ttl) {
    return with("ttl", ttl);
  }

  /**
   * Enables or disables it.
   *
   * @param enabled whether it can fire
   * @return a copy with this member
   */
  public Fault enabled(boolean enabled) {
    return with("enabled", enabled);
  }

  /**
   * Lets another fault act too.
   *
   * @param compose whether the next fault that matches may act too
   * @return a copy with this member
   */
  public Fault compose(boolean compose) {
    return with("compose", compose);
  }

  /** {@return a copy that acts before anything has happened} */
  public Fault beforeCommit() {
    return with("phase", "before_commit");
  }

  /** {@return a copy that acts when everything has happened, so that only the caller misses it} */
  public Fault afterCommit() {
    return with("phase", "after_commit");
  }

  /** {@return a copy that acts on the API, for effects that both sides have} */
  public Fault onApi() {
    return with("on", "api");
  }

  /** {@return a copy that acts on webhooks, for effects that both sides have} */
  public Fault onWebhooks() {
    return with("on", "webhooks");
  }

  @Override
  Fault copy(Map<String, Object> members) {
    return new Fault(members);
  }

  private Fault limited(String name, Object value) {
    return inside("match", name, value);
  }

  @SuppressWarnings("unchecked") // only this method sets these two
  private Fault inside(String part, String name, Object value) {
    Map<String, Object> present = (Map<String, Object>) members().getOrDefault(part, Map.of());
    return with(part, added(present, name, value));
  }
}
