package io.github.paydouble;

import java.time.Duration;
import java.util.Map;

/** A rate limit: so many requests in a window. */
public final class Quota extends Spec<Quota> {
  private Quota(Map<String, Object> members) {
    super(members);
  }

  /**
   * Returns a quota for a window of a minute.
   *
   * @param limit how many requests
   * @return the quota
   */
  public static Quota of(int limit) {
    return new Quota(Map.of("limit", limit)).window(Duration.ofMinutes(1));
  }

  /**
   * Sets the window.
   *
   * @param window its length
   * @return a copy with this member
   */
  public Quota window(Duration window) {
    return with("window", window);
  }

  /**
   * Sets how the header with the end of the window is written.
   *
   * @param unit such as {@code delta_seconds}
   * @return a copy with this member
   */
  public Quota resetUnit(String unit) {
    return with("reset_unit", unit);
  }

  /**
   * Sets by which clock the window passes.
   *
   * @param clock {@code sandbox_clock} or {@code wall_clock}
   * @return a copy with this member
   */
  public Quota clock(String clock) {
    return with("clock", clock);
  }

  /**
   * Sets which answers have the headers of the quota.
   *
   * @param headers such as {@code always}
   * @return a copy with this member
   */
  public Quota headers(String headers) {
    return with("headers", headers);
  }

  @Override
  Quota copy(Map<String, Object> members) {
    return new Quota(members);
  }
}
