// One server for all test files: `globalSetup: "paydouble/global-setup"` in the configuration of Vitest.
import { Paydouble } from "./paydouble.js";

let server: Paydouble | undefined;

/** Start a server, and tell the processes of the tests where it is. */
export async function setup(): Promise<void> {
  server = await Paydouble.start();
  process.env["PAYDOUBLE_URL"] = server.url;
  if (server.receiverHost !== undefined) process.env["PAYDOUBLE_RECEIVER_HOST"] = server.receiverHost;
}

/** End it. */
export async function teardown(): Promise<void> {
  await server?.close();
}
