// A `test` for Vitest with a sandbox and a receiver of its own for each test.
import { test as base, type TestAPI } from "vitest";
import { report, testSandbox } from "./fixtures.js";
import { Paydouble } from "./paydouble.js";
import type { WebhookReceiver } from "./receiver.js";
import type { Sandbox } from "./sandbox.js";
import type { SandboxOptions } from "./schemas.js";

export interface Fixtures {
  /** The server: the one at `PAYDOUBLE_URL`, or one that is started for the test file. */
  paydouble: Paydouble;
  /** What each sandbox is asked to be, besides a manual clock and the seed 0; set it with `test.extend`. */
  sandboxOptions: SandboxOptions;
  /** An isolated business, deleted after the test. A failed test prints what happened in it. */
  sandbox: Sandbox;
  /** A receiver to which the sandbox sends its events. */
  receiver: WebhookReceiver;
}

export const test: TestAPI<Fixtures> = base.extend<Fixtures>({
  paydouble: [
    // eslint-disable-next-line no-empty-pattern -- Vitest reads the names of the fixtures that a fixture needs
    async ({}, use) => {
      const server = await Paydouble.start();
      await use(server);
      await server.close();
    },
    { scope: "worker" },
  ],
  sandboxOptions: {},
  sandbox: async ({ paydouble, sandboxOptions, task }, use) => {
    const since = new Date();
    const sandbox = await testSandbox(paydouble, sandboxOptions);
    await use(sandbox);
    if (task.result?.state === "fail") console.error(await report(paydouble, sandbox, since));
    await sandbox[Symbol.asyncDispose]();
  },
  receiver: async ({ paydouble, sandbox }, use) => {
    const receiver = await paydouble.receiver(sandbox);
    await use(receiver);
    await receiver[Symbol.asyncDispose]();
  },
});

export const it = test;
