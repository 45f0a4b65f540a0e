package io.github.paydouble;

import com.fasterxml.jackson.databind.JsonNode;
import java.net.URI;
import java.time.Instant;
import java.util.Map;

/**
 * A sandbox as it is now.
 *
 * @param id its id
 * @param baseUrl where the API is, as this client reaches it
 * @param businessKey the key of its business
 * @param businessSecret the secret of its business
 * @param webhookSecret what signs its webhooks
 * @param notificationUrl where its events go; null for nowhere
 * @param seed the seed of its identifiers and random values
 * @param clock its clock
 * @param scenario the default scenario
 * @param settings all settings
 * @param ttl of a leased sandbox, after how long without use it is deleted, such as {@code 10m};
 *     else null
 * @param expiresAt of a leased sandbox, when that is, in real time; else null
 * @param labels names and values
 */
public record SandboxState(
    String id,
    URI baseUrl,
    String businessKey,
    String businessSecret,
    String webhookSecret,
    URI notificationUrl,
    long seed,
    ClockState clock,
    String scenario,
    JsonNode settings,
    String ttl,
    Instant expiresAt,
    Map<String, String> labels) {}
