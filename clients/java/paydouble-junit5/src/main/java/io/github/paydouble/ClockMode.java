package io.github.paydouble;

/** How time passes in a sandbox. */
public enum ClockMode {
  /** As in reality, or faster by a rate. */
  REAL,
  /** Only when a test advances the clock. */
  MANUAL,
  /** Jumps to the next timer as soon as nothing is in flight. */
  AUTO
}
