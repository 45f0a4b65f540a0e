package io.github.paydouble;

import java.util.Map;

/**
 * What a delivery must be like: all members that are set must match. {@code *} in a text matches
 * any characters.
 */
public final class DeliveryMatch extends Spec<DeliveryMatch> {
  private DeliveryMatch(Map<String, Object> members) {
    super(members);
  }

  /** {@return a match of any delivery} */
  public static DeliveryMatch delivery() {
    return new DeliveryMatch(Map.of());
  }

  /**
   * Limits it to a type of event.
   *
   * @param type the type, such as {@code pay-in.succeeded}
   * @return a copy with this member
   */
  public DeliveryMatch type(String type) {
    return with("type", type);
  }

  /**
   * Limits it to an object.
   *
   * @param id the id of the object
   * @return a copy with this member
   */
  public DeliveryMatch objectId(String id) {
    return with("object_id", id);
  }

  /**
   * Limits it to an order.
   *
   * @param order the merchant's name of the pay-in's order
   * @return a copy with this member
   */
  public DeliveryMatch externalIdentifier(String order) {
    return with("external_identifier", order);
  }

  /**
   * Limits it to a status.
   *
   * @param status the status
   * @return a copy with this member
   */
  public DeliveryMatch status(DeliveryStatus status) {
    return with("status", status);
  }

  /**
   * Limits it to a number of attempts.
   *
   * @param count the number of attempts so far
   * @return a copy with this member
   */
  public DeliveryMatch attemptCount(int count) {
    return with("attempt_count", count);
  }

  @Override
  DeliveryMatch copy(Map<String, Object> members) {
    return new DeliveryMatch(members);
  }
}
