// The fixtures under the runners themselves: a failed test shows what happened, and nothing is left.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { test as base } from "paydouble/vitest";
import { expect } from "vitest";

const PACKAGE = fileURLToPath(new URL("../", import.meta.url));
const VITEST = dirname(createRequire(import.meta.url).resolve("vitest/package.json"));

interface Project {
  write: (name: string, text: string) => Promise<void>;
  run: (...command: string[]) => Promise<{ status: number; output: string }>;
}

const test = base.extend<{ project: Project }>({
  project: async ({ paydouble }, use) => {
    const folder = await mkdtemp(join(tmpdir(), "paydouble-project-"));
    await mkdir(join(folder, "node_modules"));
    await symlink(PACKAGE, join(folder, "node_modules", "paydouble"));
    await symlink(VITEST, join(folder, "node_modules", "vitest"));
    const { NODE_TEST_CONTEXT: _, VITEST: __, ...rest } = process.env;
    const env = { ...rest, PAYDOUBLE_URL: paydouble.url, NO_COLOR: "1" };
    await use({
      write: (name, text) => writeFile(join(folder, name), text),
      run: (...command) =>
        new Promise((resolve) => {
          execFile(process.execPath, command, { cwd: folder, env }, (error, stdout, stderr) => {
            resolve({ status: error === null ? 0 : 1, output: stdout + stderr });
          });
        }),
    });
    await rm(folder, { recursive: true });
  },
});

const BODY = `
  await sandbox.faults.add("error", { status: 503, operation: "deposit-creation" });
  const headers = { Authorization: sandbox.authorization, "Content-Type": "application/json" };
  await fetch(sandbox.baseUrl + "/pay-in/deposit-creation", { method: "POST", headers, body: "{}" });
  await fetch(sandbox.baseUrl + "/elsewhere", { headers: { Authorization: "Basic " + btoa("stranger:secret") } });
  await sandbox.requests.verify({ status: 200 });
`;
const TIMELINE = [
  /paydouble timeline of sandbox \S+, seed 7/,
  /\+0s {7}merchant → {2}POST \/pay-in\/deposit-creation {2}503 \(fault-1\) \w+: /,
  /fault fault-1 \(error\) fired once/,
  /GET \/api\/v1\/elsewhere came with the business key "stranger"/,
  /status: wanted 200, got 503/,
];

test("node:test: a failed test shows its timeline", async ({ project, paydouble }) => {
  await project.write(
    "shop.test.mjs",
    `import { test } from "node:test";
     import { withSandbox } from "paydouble/node-test";
     test("fails", withSandbox({ seed: 7, id: "node-fails" }, async ({ sandbox, receiver }, t) => {${BODY}}));`,
  );

  const { status, output } = await project.run("--test", "--test-reporter=spec");
  const tap = await project.run("--test", "--test-reporter=tap");

  expect(status).toBe(1);
  for (const line of TIMELINE) expect(output).toMatch(line);
  // The reporter for pipes escapes the end of a line.
  expect(tap.output).toMatch(/^# paydouble timeline of sandbox \S+, seed 7$/m);
  expect(tap.output).toMatch(/^# {3}fault fault-1 \(error\) fired once$/m);
  await expect(paydouble.find("node-fails")).rejects.toMatchObject({ status: 404 });
});

test("node:test: a test has a sandbox, a receiver, a server and its context", async ({ project }) => {
  await project.write(
    "shop.test.mjs",
    `import assert from "node:assert/strict";
     import { test } from "node:test";
     import { withSandbox } from "paydouble/node-test";
     test("passes", { concurrency: true }, async (t) => {
       await Promise.all(["one", "two", "three"].map((name) =>
         t.test(name, withSandbox(async ({ sandbox, receiver, paydouble }, t) => {
           assert.equal(t.name, name);
           assert.equal(sandbox.baseUrl, paydouble.url + "/api/v1");
           await sandbox.scenarios.play("happy-path", { external_identifier: name });
           await sandbox.clock.advance("1m");
           assert.deepEqual(receiver.received.map((each) => each.event.data.object.external_identifier), Array(4).fill(name));
         }))));
     });`,
  );

  const { status, output } = await project.run("--test");

  expect([status, output]).toEqual([0, expect.stringContaining("pass 4")]);
});

test("Vitest: a failed test shows its timeline, and a passed one shows nothing", async ({ project, paydouble }) => {
  await project.write(
    "shop.test.js",
    `import { test } from "paydouble/vitest";
     const tests = test.extend({ sandboxOptions: { seed: 7, id: "vitest-fails" } });
     tests("fails", async ({ sandbox }) => {${BODY}});
     test("passes", async ({ sandbox }) => {});`,
  );

  const { status, output } = await project.run(join(VITEST, "vitest.mjs"), "run");

  expect(status).toBe(1);
  for (const line of TIMELINE) expect(output).toMatch(line);
  expect(output.match(/paydouble timeline/g)).toHaveLength(1);
  await expect(paydouble.find("vitest-fails")).rejects.toMatchObject({ status: 404 });
});
