// A sandbox and a receiver of its own for each test of `node:test`.
import type { TestContext } from "node:test";
import { report, testSandbox } from "./fixtures.js";
import { Paydouble } from "./paydouble.js";
import type { WebhookReceiver } from "./receiver.js";
import type { Sandbox } from "./sandbox.js";
import type { SandboxOptions } from "./schemas.js";

export interface Fixtures {
  /** The server: the one at `PAYDOUBLE_URL`, or one that is started for the process. */
  paydouble: Paydouble;
  /** An isolated business, deleted after the test. A failed test prints what happened in it. */
  sandbox: Sandbox;
  /** A receiver to which the sandbox sends its events. */
  receiver: WebhookReceiver;
}

/** A test with fixtures; `t` is the context of `node:test`. */
export type Body = (fixtures: Fixtures, t: TestContext) => void | Promise<void>;

let shared: Promise<Paydouble> | undefined;

/** Return a function for `test` that calls `body` with a sandbox of its own, made with `options` if they are given. */
export function withSandbox(...[first, second]: [Body] | [SandboxOptions, Body]): (t: TestContext) => Promise<void> {
  const [options, body] = second === undefined ? [{}, first as Body] : [first as SandboxOptions, second];
  return async (t) => {
    const paydouble = await (shared ??= Paydouble.start());
    const since = new Date();
    const sandbox = await testSandbox(paydouble, options);
    const receiver = await paydouble.receiver(sandbox);
    try {
      await body({ paydouble, sandbox, receiver }, t);
    } catch (error) {
      // Line by line: the reporter for pipes, TAP, escapes the end of a line.
      for (const line of (await report(paydouble, sandbox, since)).split("\n")) t.diagnostic(line);
      throw error;
    } finally {
      await receiver[Symbol.asyncDispose]();
      await sandbox[Symbol.asyncDispose]();
    }
  };
}
