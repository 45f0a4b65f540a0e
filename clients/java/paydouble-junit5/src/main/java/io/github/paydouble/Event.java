package io.github.paydouble;

import java.time.Instant;

/**
 * An event of the service.
 *
 * @param id its id, the same on each delivery
 * @param type its type, such as {@code pay-in.succeeded}
 * @param objectId the id of the object that it is about
 * @param createdAt when it was made, on the sandbox's clock
 * @param requestId the id of the request that caused it; null when none did
 * @param body the exact bytes that are sent
 * @param sequence its place in the order of what happened in the sandbox
 */
public record Event(
    String id,
    String type,
    String objectId,
    Instant createdAt,
    String requestId,
    Body body,
    long sequence) {}
