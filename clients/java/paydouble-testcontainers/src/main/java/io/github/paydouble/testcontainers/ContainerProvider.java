package io.github.paydouble.testcontainers;

import io.github.paydouble.Paydouble;
import io.github.paydouble.PaydoubleException;
import io.github.paydouble.ServerProvider;
import org.testcontainers.DockerClientFactory;

/** Starts the image that {@code PAYDOUBLE_IMAGE} names, or else {@code paydouble}. */
public final class ContainerProvider implements ServerProvider {
  /** Used by the service loader. */
  public ContainerProvider() {}

  @Override
  public Paydouble start() {
    String named = System.getenv("PAYDOUBLE_IMAGE");
    // CI services pass a variable that is not set as a blank one.
    String image = named == null || named.isBlank() ? "paydouble" : named;
    if (!DockerClientFactory.instance().isDockerAvailable()) {
      throw new PaydoubleException("Testcontainers finds no Docker here");
    }
    PaydoubleContainer container = new PaydoubleContainer(image);
    try {
      container.start();
    } catch (RuntimeException e) {
      throw new PaydoubleException(
          "the image '%s' does not start: %s; build it, or name another in PAYDOUBLE_IMAGE"
              .formatted(image, e.getMessage()),
          e);
    }
    return container.server();
  }
}
