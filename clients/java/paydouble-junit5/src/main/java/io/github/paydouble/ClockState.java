package io.github.paydouble;

import java.time.Instant;

/**
 * A clock, and what it waits for.
 *
 * @param mode how time passes
 * @param now the present time
 * @param rate the sandbox's time per real time
 * @param nextDueAt when the next timer is due; null without one
 * @param pending how many timers are set
 * @param idle whether nothing is left to happen
 */
public record ClockState(
    ClockMode mode, Instant now, double rate, Instant nextDueAt, int pending, boolean idle) {

  /**
   * The result of an advance.
   *
   * @param now the present time
   * @param fired how many timers fired
   * @param attempts how many attempts became due
   * @param idle whether nothing is left to happen
   */
  public record Advanced(Instant now, int fired, int attempts, boolean idle) {}
}
