package shop;

import java.io.IOException;
import java.math.BigDecimal;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.HexFormat;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** A shop that takes payments, and ships what is paid. Nothing in it knows of a test. */
public final class Shop {
  private static final int ATTEMPTS = 4;
  private static final Duration TIMEOUT = Duration.ofSeconds(10);
  private static final long TOLERANCE_SECONDS = 300;
  private static final long YEARS_SECONDS = 1_000_000_000;
  private static final Pattern SIGNATURE = Pattern.compile("t=([0-9]{1,18}),v1=([0-9a-f]{64})");
  private static final Pattern EVENT_ID = Pattern.compile("^\\{\"id\":\"([^\"]+)\"");
  private static final Pattern EVENT_TYPE = Pattern.compile("\"type\":\"([^\"]+)\"");
  private static final Pattern ORDER = Pattern.compile("\"external_identifier\":\"([^\"]+)\"");

  private final HttpClient http = HttpClient.newHttpClient();
  private final URI api;
  private final String authorization;
  private final String webhookSecret;
  private final Consumer<Duration> pause;
  private final Map<String, UUID> keys = new ConcurrentHashMap<>();
  private final Set<String> seen = ConcurrentHashMap.newKeySet();
  private final Map<String, Integer> shipments = new ConcurrentHashMap<>();

  /**
   * Opens the shop.
   *
   * @param api the URL of the payment service's API
   * @param authorization the value of the Authorization header
   * @param webhookSecret what signs webhooks
   * @param pause waits for a time, before another attempt
   */
  public Shop(URI api, String authorization, String webhookSecret, Consumer<Duration> pause) {
    this.api = api;
    this.authorization = authorization;
    this.webhookSecret = webhookSecret;
    this.pause = pause;
  }

  /**
   * Pays an order: with one key for all attempts, so that none of them can pay a second time.
   *
   * @param order the order
   * @param amount the amount, in EUR
   * @throws IOException when no attempt got an answer
   * @throws InterruptedException when the thread is interrupted
   */
  public void pay(String order, BigDecimal amount) throws IOException, InterruptedException {
    UUID key = keys.computeIfAbsent(order, unused -> UUID.randomUUID());
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(api + "/pay-in/deposit-creation"))
            .header("Authorization", authorization)
            .header("Content-Type", "application/json")
            .header("Idempotency-Key", key.toString())
            .timeout(TIMEOUT)
            .POST(BodyPublishers.ofString(deposit(order, amount)))
            .build();
    for (int attempt = 1; ; attempt++) {
      try {
        HttpResponse<String> response = http.send(request, BodyHandlers.ofString());
        int status = response.statusCode();
        if (status < 300) {
          return;
        }
        if (attempt == ATTEMPTS || (status < 500 && status != 429)) {
          throw new IOException("the payment of %s failed: %s".formatted(order, response.body()));
        }
        pause.accept(status == 429 ? untilReset(response) : Duration.ofSeconds(attempt));
      } catch (IOException e) {
        // Nobody knows whether the deposit was made: ask again, with the same key.
        if (attempt == ATTEMPTS) {
          throw e;
        }
      }
    }
  }

  /**
   * Takes a webhook.
   *
   * @param body the exact bytes
   * @param signature the signature header; null without one
   * @return the status to answer
   */
  public int webhook(byte[] body, String signature) {
    Matcher header = SIGNATURE.matcher(signature == null ? "" : signature);
    if (!header.matches()) {
      return 400;
    }
    long age = Instant.now().getEpochSecond() - Long.parseLong(header.group(1));
    if (Math.abs(age) > TOLERANCE_SECONDS) {
      return 400;
    }
    byte[] expected = hmac(header.group(1), body).getBytes(StandardCharsets.UTF_8);
    if (!MessageDigest.isEqual(expected, header.group(2).getBytes(StandardCharsets.UTF_8))) {
      return 401;
    }
    String event = new String(body, StandardCharsets.UTF_8);
    boolean first = seen.add(find(EVENT_ID, event));
    if (first && find(EVENT_TYPE, event).equals("pay-in.succeeded")) {
      shipments.merge(find(ORDER, event), 1, Integer::sum);
    }
    return 200;
  }

  /**
   * Returns how often an order was shipped.
   *
   * @param order the order
   * @return 1 for an order that is paid
   */
  public int shipments(String order) {
    return shipments.getOrDefault(order, 0);
  }

  private static String deposit(String order, BigDecimal amount) {
    return """
        {"amount": %s, "currency": "EUR", "external_identifier": "%s",
         "payment_method": {"type": "CREDIT_CARD"},
         "customer": {"first_name": "Ada", "last_name": "Byron", "email": "ada@example.test"}}
        """
        .formatted(amount.toPlainString(), order);
  }

  /** The contract does not say which unit the header has: seconds from now, or Unix seconds. */
  private static Duration untilReset(HttpResponse<String> response) {
    long reset = response.headers().firstValueAsLong("X-RateLimit-Reset").orElse(1);
    long now = Instant.now().getEpochSecond();
    return Duration.ofSeconds(Math.max(1, reset < YEARS_SECONDS ? reset : reset - now));
  }

  private String hmac(String time, byte[] body) {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      byte[] secret = webhookSecret.getBytes(StandardCharsets.UTF_8);
      mac.init(new SecretKeySpec(secret, "HmacSHA256"));
      mac.update((time + ".").getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(mac.doFinal(body));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every JDK has HmacSHA256", e);
    }
  }

  private static String find(Pattern pattern, String text) {
    Matcher found = pattern.matcher(text);
    return found.find() ? found.group(1) : "";
  }
}
