package io.github.paydouble;

import java.net.URI;
import java.time.Instant;

/**
 * Where events go, and what signs them.
 *
 * @param notificationUrl where they go; null for nowhere
 * @param secret the secret
 * @param previousSecret during the grace period of a rotation the former secret; else null
 * @param previousValidUntil the end of that period; else null
 * @param signatureHeader the name of the header
 */
public record WebhookState(
    URI notificationUrl,
    String secret,
    String previousSecret,
    Instant previousValidUntil,
    String signatureHeader) {}
