// The server in a container. Needs the package `testcontainers` and a container engine.
import { AbstractStartedContainer, GenericContainer, Wait, type StartedTestContainer } from "testcontainers";
import { Paydouble } from "./paydouble.js";

const PORT = 8080;
const HOST = "host.docker.internal";

/** `await using container = await new PaydoubleContainer("paydouble").start()`. */
export class PaydoubleContainer extends GenericContainer {
  constructor(image = "paydouble") {
    super(image);
    this.withExposedPorts(PORT)
      .withExtraHosts([{ host: HOST, ipAddress: "host-gateway" }])
      .withWaitStrategy(Wait.forHttp("/_paydouble/health", PORT));
  }

  /** Require a control token. */
  withControlToken(token: string): this {
    return this.withEnvironment({ PAYDOUBLE_CONTROL_TOKEN: token });
  }

  override async start(): Promise<StartedPaydoubleContainer> {
    return new StartedPaydoubleContainer(await super.start(), this.environment["PAYDOUBLE_CONTROL_TOKEN"]);
  }
}

/** A running container. */
export class StartedPaydoubleContainer extends AbstractStartedContainer {
  constructor(
    started: StartedTestContainer,
    private readonly token: string | undefined,
  ) {
    super(started);
  }

  /** The address of the server, at the mapped port. */
  getUrl(): string {
    return `http://${this.getHost()}:${this.getMappedPort(PORT)}`;
  }

  /** Return the server; `close` stops the container. Its receivers are reachable from the container. */
  connect(): Promise<Paydouble> {
    return Paydouble.connect(this.getUrl(), { token: this.token, receiverHost: HOST, onClose: () => this.stop() });
  }
}
