package io.github.paydouble;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Instant;

/**
 * A fault of a sandbox, with its counts.
 *
 * @param id its id
 * @param name its name; null without one
 * @param on {@code api} or {@code webhooks}
 * @param enabled whether it can fire
 * @param active whether it can still fire
 * @param effect the effect, with its {@code type}
 * @param match what it acts on
 * @param timesMatched how often it matched
 * @param timesFired how often it fired
 * @param createdAt when it was armed, on the sandbox's clock
 * @param expiresAt when it ends, on the sandbox's clock; null without an end
 * @param sequence its place in the order of what happened in the sandbox
 */
public record ArmedFault(
    String id,
    String name,
    String on,
    boolean enabled,
    boolean active,
    JsonNode effect,
    JsonNode match,
    int timesMatched,
    int timesFired,
    Instant createdAt,
    Instant expiresAt,
    long sequence) {}
