import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const dist = fileURLToPath(new URL("dist", import.meta.url));

export default defineConfig({
  // The tests use what is built, under the names of the package.
  resolve: {
    alias: [
      { find: /^paydouble$/, replacement: `${dist}/index.js` },
      { find: /^paydouble\/(.+)$/, replacement: `${dist}/$1.js` },
    ],
  },
  test: {
    include: ["test/*.test.ts", "example/*.test.js"],
    globalSetup: ["dist/global-setup.js"],
    // Tests of child processes wait for a Python interpreter or for another test runner, also on a busy machine.
    testTimeout: 120_000,
  },
});
