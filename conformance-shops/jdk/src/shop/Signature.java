package shop;

import static shop.Mistakes.mistake;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Verifies X-Service-Signature: t=unix seconds, and one or several v1=hex digest. */
final class Signature {
    private static final long TOLERANCE_SECONDS = 300;

    private Signature() {}

    /** The status to answer: 200 verified, 400 malformed or out of tolerance, 401 does not match. */
    static int check(List<String> headers, byte[] body, String secret, Instant now) {
        if (headers == null && mistake("missing-signature-accepted")) {
            return 200;
        }
        List<String> times = new ArrayList<>();
        List<String> digests = new ArrayList<>();
        for (String part : headers == null ? new String[0] : String.join(",", headers).split(",")) {
            String[] pair = part.strip().split("=", 2);
            if (pair.length == 2 && pair[0].equals("t")) {
                times.add(pair[1]);
            } else if (pair.length == 2 && pair[0].equals("v1")) {
                digests.add(pair[1]);
            }
        }
        if (times.size() != 1 || !times.get(0).matches("[0-9]{1,12}") || digests.isEmpty()) {
            return 400;
        }
        if (mistake("last-signature-wins")) {
            // As it comes out of a map: a later v1 takes the place of an earlier one.
            digests = digests.subList(digests.size() - 1, digests.size());
        }
        long age = now.getEpochSecond() - Long.parseLong(times.get(0));
        if (Math.abs(age) > TOLERANCE_SECONDS && !mistake("timestamp-not-checked")) {
            return 400;
        }
        byte[] signed = mistake("reserialised-body") ? reserialised(body) : body;
        byte[] expected = hmac(times.get(0), signed, secret).getBytes(StandardCharsets.UTF_8);
        boolean verified = false;
        for (String digest : digests) {
            verified |= MessageDigest.isEqual(expected, digest.getBytes(StandardCharsets.UTF_8));
        }
        return verified ? 200 : 401;
    }

    private static String hmac(String time, byte[] body, String secret) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
            mac.update((time + ".").getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(mac.doFinal(body));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    private static byte[] reserialised(byte[] body) {
        Map<String, Object> event = Json.object(new String(body, StandardCharsets.UTF_8));
        return Json.write(event).getBytes(StandardCharsets.UTF_8);
    }
}
