package io.github.paydouble;

import java.time.Instant;
import java.util.Map;

/** A clock for a sandbox. */
public final class ClockSpec extends Spec<ClockSpec> {
  private ClockSpec(Map<String, Object> members) {
    super(members);
  }

  /**
   * Returns a clock that goes on from the present time.
   *
   * @param mode how time passes
   * @return the clock
   */
  public static ClockSpec of(ClockMode mode) {
    return new ClockSpec(Map.of("mode", mode));
  }

  /**
   * Sets where it begins.
   *
   * @param start its first instant
   * @return a copy with this member
   */
  public ClockSpec start(Instant start) {
    return with("start", start);
  }

  /**
   * Sets how fast a real clock is.
   *
   * @param rate the sandbox's time per real time
   * @return a copy with this member
   */
  public ClockSpec rate(double rate) {
    return with("rate", rate);
  }

  @Override
  ClockSpec copy(Map<String, Object> members) {
    return new ClockSpec(members);
  }
}
