// What both test runners do for each test: make a sandbox, and show what happened in it when the test fails.
import type { Paydouble } from "./paydouble.js";
import type { Sandbox } from "./sandbox.js";
import type { SandboxOptions } from "./schemas.js";

/**
 * Make a test's sandbox. Time stands still until the test advances it, and ids are the same in each run. On a shared
 * server it does not outlive its test for long, even if the process of the test is killed.
 */
export function testSandbox(server: Paydouble, options: SandboxOptions): Promise<Sandbox> {
  return server.sandbox({ clock: "manual", seed: 0, ttl: "1h", ...options });
}

/** Return what happened in a failed test's sandbox since it began, for a person; never throws. */
export async function report(server: Paydouble, sandbox: Sandbox, since: Date): Promise<string> {
  const title = `paydouble timeline of sandbox ${sandbox.id}, seed ${sandbox.seed}`;
  try {
    const lines = [title, await sandbox.timeline()];
    for (const { at, method, target, business_key: key } of await server.unclaimedRequests()) {
      if (new Date(at) < since) continue;
      const shown = key === null ? "without a business key" : `with the business key ${JSON.stringify(key)}`;
      lines.push(`${method} ${target} came ${shown}; this sandbox has ${JSON.stringify(sandbox.businessKey)}`);
    }
    return lines.join("\n").replaceAll("\n", "\n  ");
  } catch (error) {
    return `${title} cannot be shown: ${String(error)}`;
  }
}
