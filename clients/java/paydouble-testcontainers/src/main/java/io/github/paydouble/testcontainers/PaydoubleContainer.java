package io.github.paydouble.testcontainers;

import io.github.paydouble.ClockMode;
import io.github.paydouble.Paydouble;
import java.net.URI;
import java.util.Locale;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.DockerImageName;

/**
 * A paydouble server in a container.
 *
 * <pre>{@code
 * try (PaydoubleContainer container = new PaydoubleContainer("paydouble:1.0.0")) {
 *   container.start();
 *   Sandbox sandbox = container.server().sandbox();
 * }
 * }</pre>
 *
 * <p>One container serves a whole run: each test makes its own sandbox. With the JUnit extension no
 * code is needed; the image is then the one that {@code PAYDOUBLE_IMAGE} names.
 */
public final class PaydoubleContainer extends GenericContainer<PaydoubleContainer> {
  /** The name of the machine that runs the tests, as the server sees it. */
  public static final String RECEIVER_HOST = "host.docker.internal";

  private static final int PORT = 8080;

  /**
   * Describes a container.
   *
   * @param image the name of the image
   */
  public PaydoubleContainer(String image) {
    this(DockerImageName.parse(image));
  }

  /**
   * Describes a container.
   *
   * @param image the name of the image
   */
  public PaydoubleContainer(DockerImageName image) {
    super(image);
    withExposedPorts(PORT);
    withExtraHost(RECEIVER_HOST, "host-gateway");
    waitingFor(Wait.forHttp("/_paydouble/health").forPort(PORT));
  }

  /**
   * Sets how time passes in the default sandbox.
   *
   * @param mode the mode
   * @return this
   */
  public PaydoubleContainer withClock(ClockMode mode) {
    return withEnv("PAYDOUBLE_CLOCK", mode.name().toLowerCase(Locale.ROOT));
  }

  /**
   * Sets the seed of the default sandbox.
   *
   * @param seed the seed
   * @return this
   */
  public PaydoubleContainer withSeed(long seed) {
    return withEnv("PAYDOUBLE_SEED", Long.toString(seed));
  }

  /**
   * Sets the token that control calls must have.
   *
   * @param token the token
   * @return this
   */
  public PaydoubleContainer withControlToken(String token) {
    return withEnv("PAYDOUBLE_CONTROL_TOKEN", token);
  }

  /**
   * Returns the address of the server, at its mapped port.
   *
   * @return the address
   */
  public URI url() {
    return URI.create("http://%s:%d".formatted(getHost(), getMappedPort(PORT)));
  }

  /**
   * Returns the server. Its receivers can be reached from the container.
   *
   * @return the server; closing it stops the container
   */
  public Paydouble server() {
    return Paydouble.at(url())
        .token(getEnvMap().get("PAYDOUBLE_CONTROL_TOKEN"))
        .receiverHost(RECEIVER_HOST)
        .onClose(this::stop)
        .connect();
  }

  @Override
  public boolean equals(Object other) {
    return this == other;
  }

  @Override
  public int hashCode() {
    return System.identityHashCode(this);
  }
}
