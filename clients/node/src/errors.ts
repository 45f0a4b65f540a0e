/*
 * PaydoubleError
 * ├── ControlRefused   a control call was wrong, and nothing was changed
 * ├── ServerGone       no server answers at the address
 * └── ServerNotFound   there is no server, and none can be started
 * AssertionError (of node:assert)
 * └── NotAsExpected    a verify or a wait did not find what the test expects
 */
import { AssertionError } from "node:assert";

/** The base of the errors that are not about what a test expects. */
export class PaydoubleError extends Error {
  override name = "PaydoubleError";
}

/** A control call was refused, and nothing was changed. */
export class ControlRefused extends PaydoubleError {
  override name = "ControlRefused";

  /** `code` is stable; `member` is the one that is wrong, or empty; the message names it too. */
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly member: string,
  ) {
    super(message);
  }
}

/** No server answers at the address: it was not started there, or it has ended. */
export class ServerGone extends PaydoubleError {
  override name = "ServerGone";
}

/** There is no server to use, and none can be started; the message says what to do. */
export class ServerNotFound extends PaydoubleError {
  override name = "ServerNotFound";
}

/** What a test expects of a journal or a receiver does not hold; the message shows what came closest. */
export class NotAsExpected extends AssertionError {
  override name = "NotAsExpected";

  /** The stack begins at the caller of `thrower`, the method that the test has called. */
  constructor(message: string, thrower?: (...given: never[]) => unknown) {
    super({ message, ...(thrower && { stackStartFn: thrower }) });
    // Newer versions of Node keep the style of a comparison here; Vitest would print it as the comparison itself.
    Reflect.deleteProperty(this, "diff");
  }
}
