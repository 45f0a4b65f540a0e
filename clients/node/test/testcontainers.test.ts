// Without a container engine: what is asked of Testcontainers, and what is made of its answer.
import { Paydouble } from "paydouble";
import { PaydoubleContainer } from "paydouble/testcontainers";
import { test as base } from "paydouble/vitest";
import { GenericContainer, type StartedTestContainer } from "testcontainers";
import { afterEach, expect, vi, type Mock } from "vitest";
import { forward } from "./support/forwarder.js";
import { deposit } from "./support/shop.js";

class Probe extends PaydoubleContainer {
  get asked() {
    const { imageName, exposedPorts, environment, hostConfig } = this;
    return { image: imageName.string, exposedPorts, environment, extraHosts: hostConfig.ExtraHosts as unknown };
  }
}

// A container whose port 8080 is mapped to a port at which the test's server is reached.
const test = base.extend<{ stop: Mock<() => Promise<void>> }>({
  stop: async ({ paydouble }, use) => {
    const mapped = await forward(paydouble.url);
    const { hostname, port } = new URL(mapped.url);
    const stop = vi.fn(() => Promise.resolve());
    const getMappedPort = (inside: number) => (inside === 8080 ? Number(port) : 0);
    const started = { getHost: () => hostname, getMappedPort, stop } as unknown as StartedTestContainer;
    vi.spyOn(GenericContainer.prototype, "start").mockResolvedValue(started);
    await use(stop);
    mapped.close();
  },
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

test("the container publishes the server's port, and reaches this machine", () => {
  const container = new Probe("registry.test/paydouble:1").withControlToken("secret");

  expect(container.asked).toEqual({
    image: "registry.test/paydouble:1",
    exposedPorts: [8080],
    environment: { PAYDOUBLE_CONTROL_TOKEN: "secret" },
    extraHosts: ["host.docker.internal:host-gateway"],
  });
  expect(new Probe().asked.image).toMatch(/^paydouble(:latest)?$/);
});

test("a started container gives a server at the mapped port, and close stops it", async ({ stop }) => {
  const container = await new PaydoubleContainer().start();
  const server = await container.connect();
  await using sandbox = await server.sandbox();
  await using receiver = await server.receiver(sandbox);

  await deposit(sandbox, "order-1");

  expect(sandbox.baseUrl).toBe(`${container.getUrl()}/api/v1`);
  expect(receiver.url).toMatch(/^http:\/\/host\.docker\.internal:\d+\/$/);
  await server.close();
  expect(stop).toHaveBeenCalledOnce();
});

test("PAYDOUBLE_IMAGE makes start use a container", async ({ stop }) => {
  vi.stubEnv("PAYDOUBLE_URL", "");
  vi.stubEnv("PAYDOUBLE_IMAGE", "paydouble");

  const server = await Paydouble.start({ command: "/there/is/none" });

  expect(server.receiverHost).toBe("host.docker.internal");
  await server.close();
  expect(stop).toHaveBeenCalledOnce();
});
