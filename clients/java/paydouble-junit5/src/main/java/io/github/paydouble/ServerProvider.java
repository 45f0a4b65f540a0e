package io.github.paydouble;

/**
 * Starts a server for {@link Paydouble#start}, for instance in a container. Providers are found by
 * {@link java.util.ServiceLoader}.
 */
public interface ServerProvider {
  /**
   * Starts a server.
   *
   * @return the server; closing it stops it
   * @throws PaydoubleException when it cannot be started here; the message says why
   */
  Paydouble start();
}
