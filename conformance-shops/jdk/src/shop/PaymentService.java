package shop;

import static shop.Mistakes.mistake;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

/** The payment service's API: one call with its attempts, pauses and the reading of its reply. */
final class PaymentService {
    private static final int ATTEMPTS = 5;
    private static final long LONGEST_RATE_LIMIT_PAUSE_MS = 20_000;

    /**
     * What is known after a call. LIMITED: not carried out, and may be tried later. CONFLICT: what there
     * is has to be read. REFUSED_LATER: refused, but an earlier attempt may have been carried out.
     * UNCLEAR: it may have been carried out, or may not.
     */
    enum Outcome {
        DONE,
        REFUSED,
        REFUSED_LATER,
        LIMITED,
        CONFLICT,
        UNCLEAR
    }

    /** errorId is the request id of the last error that the service answered, or null. */
    record Reply(Outcome outcome, long pauseMs, Object data, String errorId) {
        Reply(Outcome outcome, Object data, String errorId) {
            this(outcome, 0, data, errorId);
        }

        boolean done() {
            return outcome == Outcome.DONE;
        }

        boolean settled() {
            return outcome != Outcome.UNCLEAR && outcome != Outcome.LIMITED;
        }

        Map<String, Object> object() {
            return Json.map(data);
        }
    }

    private final HttpClient http =
            HttpClient.newBuilder()
                    .version(HttpClient.Version.HTTP_1_1)
                    .connectTimeout(Duration.ofSeconds(5))
                    .build();
    private final String baseUrl;
    private final String authorization;
    private final long timeoutMs;
    private final double pauseScale;
    private final Supplier<Instant> clock;

    PaymentService(String baseUrl,
            String key,
            String secret,
            double timeout,
            double pauseScale,
            Supplier<Instant> clock) {
        this.baseUrl = baseUrl;
        this.authorization = "Basic " + Base64.getEncoder().encodeToString(utf8(key + ":" + secret));
        this.timeoutMs = (long) (timeout * 1000);
        this.pauseScale = pauseScale;
        this.clock = clock;
    }

    Reply get(String path) {
        return attempts(request(path).GET(), null, null, false);
    }

    /** sentBefore: an earlier call with this key may have been carried out. */
    Reply post(String path, String key, String body, boolean sentBefore) {
        HttpRequest.Builder request = request(path).header("Content-Type", "application/json");
        return attempts(request, key, body, sentBefore);
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create(baseUrl + path)).header("Authorization", authorization);
    }

    private Reply attempts(HttpRequest.Builder request, String key, String body, boolean sentBefore) {
        String errorId = null;
        boolean unclear = sentBefore;
        for (int attempt = 1; ; attempt++) {
            if (key != null) {
                boolean newKey = mistake("key-per-attempt") && attempt > 1;
                request.setHeader("Idempotency-Key", newKey ? UUID.randomUUID().toString() : key);
                request.POST(HttpRequest.BodyPublishers.ofByteArray(utf8(stamped(body))));
            }
            Reply reply = attempt(request.build());
            errorId = reply.errorId() != null ? reply.errorId() : errorId;
            boolean tooLong =
                    reply.pauseMs() > LONGEST_RATE_LIMIT_PAUSE_MS && !mistake("rate-limit-in-seconds");
            if (reply.settled() || attempt == ATTEMPTS || tooLong) {
                boolean later = unclear && reply.outcome() == Outcome.REFUSED;
                Outcome outcome = later ? Outcome.REFUSED_LATER : reply.outcome();
                return new Reply(outcome, reply.data(), errorId);
            }
            unclear |= reply.outcome() == Outcome.UNCLEAR;
            sleep(reply.pauseMs() > 0 ? reply.pauseMs() : backoffMs(attempt));
        }
    }

    private Reply attempt(HttpRequest request) {
        CompletableFuture<HttpResponse<byte[]>> sending =
                http.sendAsync(request, HttpResponse.BodyHandlers.ofByteArray());
        try {
            // The request's own timeout would end with the headers: this one includes the body.
            return read(sending.get(timeoutMs, TimeUnit.MILLISECONDS));
        } catch (ExecutionException | TimeoutException | InterruptedException e) {
            sending.cancel(true);
            return new Reply(Outcome.UNCLEAR, null, null);
        }
    }

    private Reply read(HttpResponse<byte[]> response) {
        int status = response.statusCode();
        Map<String, Object> body = Json.object(new String(response.body(), StandardCharsets.UTF_8));
        String errorId = status / 100 == 2 && body.get("error") == null ? null : errorId(response, body);
        if (status / 100 == 2) {
            boolean success = Boolean.TRUE.equals(body.get("success")) && body.get("data") != null;
            if (success || mistake("success-not-checked")) {
                return new Reply(Outcome.DONE, body.get("data"), null);
            }
            // An unreadable reply is asked for again. A clear "no success" is looked up by reading.
            boolean no = Boolean.FALSE.equals(body.get("success"));
            return new Reply(no ? Outcome.CONFLICT : Outcome.UNCLEAR, null, errorId);
        }
        if (status == 429) {
            return new Reply(Outcome.LIMITED, rateLimitPauseMs(response), null, errorId);
        }
        Outcome refused = status == 409 ? Outcome.CONFLICT : Outcome.REFUSED;
        return new Reply(status / 100 == 4 ? refused : Outcome.UNCLEAR, null, errorId);
    }

    /** Both envelopes: inside the error (A), or at the top level (B); else the response's header. */
    private static String errorId(HttpResponse<?> response, Map<String, Object> body) {
        String inside = Json.string(Json.map(body.get("error")), "request_id");
        String topLevel = Json.string(body, "request_id");
        if (inside != null || mistake("request-id-of-one-envelope")) {
            return inside;
        }
        return topLevel != null ? topLevel : response.headers().firstValue("X-Request-Id").orElse(null);
    }

    /**
     * Until X-RateLimit-Reset, whose unit is not documented: seconds from now, epoch seconds or epoch
     * milliseconds, which differ by size. 0 when the header does not help: then the backoff applies.
     */
    private long rateLimitPauseMs(HttpResponse<?> response) {
        String reset = response.headers().firstValue("X-RateLimit-Reset").orElse("").strip();
        if (!reset.matches("\\d{1,15}(\\.\\d{1,9})?")) {
            return 0;
        }
        double value = Double.parseDouble(reset);
        long now = clock.get().toEpochMilli();
        if (value < 1e9 || mistake("rate-limit-in-seconds")) {
            return (long) Math.ceil(value * 1000);
        }
        return Math.max(0, (long) Math.ceil(value < 1e11 ? value * 1000 : value) - now);
    }

    private long backoffMs(int attempt) {
        double jitter = ThreadLocalRandom.current().nextDouble(0.75, 1.25);
        return (long) (1000 * (1 << (attempt - 1)) * jitter * pauseScale);
    }

    private static String stamped(String body) {
        if (!mistake("body-changes-on-retry")) {
            return body;
        }
        String sentAt = String.valueOf(System.nanoTime());
        return body.substring(0, body.length() - 1) + ",\"metadata\":{\"sent_at\":\"" + sentAt + "\"}}";
    }

    private static void sleep(long milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
