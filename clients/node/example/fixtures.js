// The shop of a test, which pays at the test's own sandbox.
import { once } from "node:events";
import { test as base } from "paydouble/vitest";
import { makeShop } from "./shop.js";

export const test = base.extend({
  shop: async ({ sandbox }, use) => {
    // The shop does not wait in real time: it moves the sandbox's clock.
    const app = makeShop(sandbox, (ms) => sandbox.clock.advance(ms));
    const server = app.listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${server.address().port}`;
    await sandbox.change({ notification_url: `${url}/webhooks` });
    const call = (method, path, json) =>
      fetch(`${url}${path}`, { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(json) });
    await use({
      app,
      pay: async (id) => {
        await call("PUT", `/orders/${id}`, { amount: "49.90" });
        return (await call("POST", `/orders/${id}/payment`)).status;
      },
      order: async (id) => (await call("GET", `/orders/${id}`)).json(),
    });
    server.close();
    server.closeAllConnections();
  },
});
