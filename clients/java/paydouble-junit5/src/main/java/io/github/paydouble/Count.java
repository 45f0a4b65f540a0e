package io.github.paydouble;

import java.util.Map;

/** How many records are expected. */
public final class Count {
  private final Map<String, Object> members;

  private Count(Map<String, Object> members) {
    this.members = members;
  }

  /**
   * Expects a number of records.
   *
   * @param count the number
   * @return the expectation
   */
  public static Count exactly(int count) {
    return new Count(Map.of("count", count));
  }

  /**
   * Expects a number of records or more.
   *
   * @param count the smallest number
   * @return the expectation
   */
  public static Count atLeast(int count) {
    return new Count(Map.of("at_least", count));
  }

  /**
   * Expects a number of records or fewer.
   *
   * @param count the largest number
   * @return the expectation
   */
  public static Count atMost(int count) {
    return new Count(Map.of("at_most", count));
  }

  /**
   * Expects a number of records within limits.
   *
   * @param least the smallest number
   * @param most the largest number
   * @return the expectation
   */
  public static Count between(int least, int most) {
    return new Count(Map.of("at_least", least, "at_most", most));
  }

  /** {@return the expectation that there is no record} */
  public static Count none() {
    return exactly(0);
  }

  Map<String, Object> members() {
    return members;
  }
}
