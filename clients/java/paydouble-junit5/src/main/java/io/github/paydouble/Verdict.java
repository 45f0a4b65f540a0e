package io.github.paydouble;

/** What the idempotency key decided about a request. */
public enum Verdict {
  /** The key was new, and the request was carried out. */
  NEW,
  /** The key and the body were known, and the first answer was given again. */
  REPLAY,
  /** The same request was in flight, and both got its answer. */
  JOINED,
  /** The key was known with another body, and the request was refused. */
  CONFLICT,
  /** It has no key, or was refused before its key was looked at. */
  NONE
}
