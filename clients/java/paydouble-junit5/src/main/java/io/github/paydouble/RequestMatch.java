package io.github.paydouble;

import java.util.Map;

/**
 * What a request must be like: all members that are set must match. {@code *} in a text matches any
 * characters.
 */
public final class RequestMatch extends Spec<RequestMatch> {
  private RequestMatch(Map<String, Object> members) {
    super(members);
  }

  /** {@return a match of any request} */
  public static RequestMatch request() {
    return new RequestMatch(Map.of());
  }

  /**
   * Limits it to an operation.
   *
   * @param name the name of the operation, such as {@code deposit-creation}
   * @return a copy with this member
   */
  public RequestMatch operation(String name) {
    return with("operation", name);
  }

  /**
   * Limits it to a method.
   *
   * @param method {@code GET} or {@code POST}
   * @return a copy with this member
   */
  public RequestMatch method(String method) {
    return with("method", method);
  }

  /**
   * Limits it to a path.
   *
   * @param path the path with its prefix, without the query
   * @return a copy with this member
   */
  public RequestMatch path(String path) {
    return with("path", path);
  }

  /**
   * Limits it to a status of the answer.
   *
   * @param status the status
   * @return a copy with this member
   */
  public RequestMatch status(int status) {
    return with("status", status);
  }

  /**
   * Limits it to an order.
   *
   * @param order the merchant's name of the order
   * @return a copy with this member
   */
  public RequestMatch externalIdentifier(String order) {
    return with("external_identifier", order);
  }

  /**
   * Limits it to an object.
   *
   * @param id the id of the object
   * @return a copy with this member
   */
  public RequestMatch objectId(String id) {
    return with("object_id", id);
  }

  /**
   * Limits it to an idempotency key.
   *
   * @param key the key
   * @return a copy with this member
   */
  public RequestMatch idempotencyKey(String key) {
    return with("idempotency_key", key);
  }

  /**
   * Limits it to what the idempotency key decided.
   *
   * @param verdict the verdict
   * @return a copy with this member
   */
  public RequestMatch verdict(Verdict verdict) {
    return with("verdict", verdict);
  }

  /**
   * Limits it to headers.
   *
   * @param headers some headers; the case of their names does not matter
   * @return a copy with this member
   */
  public RequestMatch headers(Map<String, String> headers) {
    return with("headers", headers);
  }

  /**
   * Limits it to members of the body.
   *
   * @param body some members; amounts are {@code BigDecimal}
   * @return a copy with this member
   */
  public RequestMatch body(Map<String, ?> body) {
    return with("body", body);
  }

  @Override
  RequestMatch copy(Map<String, Object> members) {
    return new RequestMatch(members);
  }
}
