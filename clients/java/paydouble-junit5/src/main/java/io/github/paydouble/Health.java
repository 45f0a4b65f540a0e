package io.github.paydouble;

/**
 * The health of a server.
 *
 * @param status {@code ok}
 * @param version the version of paydouble
 * @param uptimeSeconds how long it has run
 * @param sandboxes how many sandboxes it has
 */
public record Health(String status, String version, double uptimeSeconds, int sandboxes) {}
