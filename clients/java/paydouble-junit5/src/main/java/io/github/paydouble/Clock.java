package io.github.paydouble;

import io.github.paydouble.ClockState.Advanced;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;

/** The time of a sandbox. */
public final class Clock {
  /** An advance over days of retries takes long. */
  private static final Duration PATIENCE = Duration.ofMinutes(10);

  private final Control control;
  private final String path;

  Clock(Control control, String path) {
    this.control = control;
    this.path = path;
  }

  /** {@return the clock as it is now} */
  public ClockState read() {
    return control.call(ClockState.class, "GET", path, null);
  }

  /**
   * Replaces the clock by one that goes on from the present time.
   *
   * @param mode how time passes
   * @return the clock as it is now
   */
  public ClockState set(ClockMode mode) {
    return set(ClockSpec.of(mode));
  }

  /**
   * Replaces the clock.
   *
   * @param clock the new clock
   * @return the clock as it is now
   */
  public ClockState set(ClockSpec clock) {
    return control.call(ClockState.class, "PUT", path, clock.members());
  }

  /**
   * Moves the clock, and returns when everything that became due has been done.
   *
   * @param by how far
   * @return what happened
   */
  public Advanced advance(Duration by) {
    return advance(Map.of("by", by));
  }

  /**
   * Moves the clock, but stops after a number of timers.
   *
   * @param by how far at most
   * @param limit how many timers may fire
   * @return what happened
   */
  public Advanced advance(Duration by, int limit) {
    return advance(Map.of("by", by, "limit", limit));
  }

  /**
   * Moves the clock to an instant, and returns when everything that became due has been done.
   *
   * @param to the instant
   * @return what happened
   */
  public Advanced advanceTo(Instant to) {
    return advance(Map.of("to", to));
  }

  /**
   * Moves the clock until nothing is left to happen.
   *
   * @return what happened
   */
  public Advanced advanceUntilIdle() {
    return advance(Map.of("until_idle", true));
  }

  private Advanced advance(Map<String, ?> body) {
    return Json.convert(control.call("POST", path + "/advance", body, PATIENCE), Advanced.class);
  }
}
