package io.github.paydouble;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Signs webhooks and verifies them: {@code t=<Unix seconds>,v1=<HMAC-SHA256 in hex>} over the time,
 * a dot, and the exact bytes of the body.
 */
public final class WebhookSignature {
  /** The header that has the signature. */
  public static final String HEADER = "X-Service-Signature";

  /** How far the time of a signature may be from now, in both directions. */
  public static final Duration TOLERANCE = Duration.ofMinutes(5);

  private static final int BAD_REQUEST = 400;
  private static final int UNAUTHORIZED = 401;

  /** ASCII digits alone, and fewer than would overflow. */
  private static final Pattern SECONDS = Pattern.compile("[0-9]{1,18}");

  private WebhookSignature() {}

  /**
   * Returns the value of the header.
   *
   * @param body the exact bytes
   * @param secret the webhook secret
   * @param at the time of the signature
   * @return the value
   */
  public static String sign(byte[] body, String secret, Instant at) {
    String time = Long.toString(at.getEpochSecond());
    return "t=%s,v1=%s".formatted(time, digest(time, body, secret));
  }

  /**
   * Verifies the value of the header against a body.
   *
   * @param body the exact bytes that came
   * @param header the value; null without one
   * @param secret the webhook secret
   * @param now the present time
   * @throws WebhookSignatureException when it does not verify
   */
  public static void verify(byte[] body, String header, String secret, Instant now) {
    if (header == null || header.isBlank()) {
      throw new WebhookSignatureException(BAD_REQUEST, "there is no header " + HEADER);
    }
    List<String> times = new ArrayList<>();
    List<String> digests = new ArrayList<>();
    for (String part : header.strip().split(",", -1)) {
      if (part.startsWith("t=")) {
        times.add(part.substring(2));
      } else if (part.startsWith("v1=")) {
        digests.add(part.substring(3));
      }
    }
    // With two times it is not clear which one was signed.
    if (times.size() != 1 || digests.isEmpty() || !SECONDS.matcher(times.get(0)).matches()) {
      throw new WebhookSignatureException(
          BAD_REQUEST, "%s is not t=<Unix seconds>,v1=<hex>: %s".formatted(HEADER, header));
    }
    long age = now.getEpochSecond() - Long.parseLong(times.get(0));
    if (Math.abs(age) > TOLERANCE.toSeconds()) {
      throw new WebhookSignatureException(
          BAD_REQUEST, "the signature is %d s old, with a tolerance of 300 s".formatted(age));
    }
    byte[] expected = digest(times.get(0), body, secret).getBytes(StandardCharsets.UTF_8);
    boolean fits = false;
    for (String digest : digests) {
      // All are compared, so that the time taken does not tell which one fits.
      fits |= MessageDigest.isEqual(expected, digest.getBytes(StandardCharsets.UTF_8));
    }
    if (!fits) {
      throw new WebhookSignatureException(
          UNAUTHORIZED,
          "no v1 fits this body and this secret; check that the body has the bytes as they came,"
              + " and that the secret is the webhook secret of the sandbox");
    }
  }

  /** Refuses a blank secret: it is a variable that is not set. */
  static String checked(String secret) {
    if (secret.isBlank()) {
      throw new PaydoubleException("the webhook secret is blank; give the one of the sandbox");
    }
    return secret;
  }

  private static String digest(String time, byte[] body, String secret) {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(checked(secret).getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
      mac.update((time + ".").getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(mac.doFinal(body));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every JDK has HmacSHA256", e);
    }
  }
}
