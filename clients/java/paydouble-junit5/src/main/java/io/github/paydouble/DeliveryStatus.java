package io.github.paydouble;

/** How far a delivery is. */
public enum DeliveryStatus {
  /** An attempt is due, now or later, or is in flight. */
  WAITING,
  /** Kept back by a fault or by a call, until it is released. */
  HELD,
  /** A receiver has answered 2xx. */
  DELIVERED,
  /** The last attempt of the schedule has failed. */
  EXHAUSTED,
  /** A fault has dropped it; it is never sent. */
  DROPPED,
  /** There was no URL to send it to. */
  NO_ENDPOINT
}
