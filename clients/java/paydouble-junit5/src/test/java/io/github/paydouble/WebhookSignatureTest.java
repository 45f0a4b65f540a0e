package io.github.paydouble;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.charset.StandardCharsets;
import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class WebhookSignatureTest {
  private static final byte[] BODY = "{}".getBytes(StandardCharsets.UTF_8);
  private static final Instant NOW = Instant.ofEpochSecond(1_700_000_000);
  private static final String GOOD =
      "c6b8b1b3a1f24a8de6ad7ac5a92d3f1a7d9b0f2f8b6cbd0f4ed2b5e3a1a1c1d1";

  @Test
  void aSignatureVerifiesWithinItsTolerance() {
    String header = WebhookSignature.sign(BODY, "whsec", NOW);

    assertDoesNotThrow(() -> WebhookSignature.verify(BODY, header, "whsec", NOW.plusSeconds(300)));
    assertDoesNotThrow(() -> WebhookSignature.verify(BODY, header, "whsec", NOW.minusSeconds(300)));
    // During a rotation there are two digests.
    assertDoesNotThrow(() -> WebhookSignature.verify(BODY, header + ",v1=" + GOOD, "whsec", NOW));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "400 |",
        "400 | t=1700000000",
        "400 | v1=ab",
        "400 | t=1700000000,t=1700000000,v1=ab",
        "400 | t=+1700000000,v1=ab",
        "400 | t=99999999999999999999999,v1=ab",
        "400 | t=1699999699,v1=ab",
        "401 | t=1700000000,v1=ab",
        "401 | t=1700000000,v1=é",
      })
  void aHeaderThatDoesNotVerifyHasAStatus(int status, String header) {
    WebhookSignatureException error =
        assertThrows(
            WebhookSignatureException.class,
            () -> WebhookSignature.verify(BODY, header, "whsec", NOW));

    assertEquals(status, error.recommendedStatus());
  }

  @Test
  void aBlankSecretIsAMistake() {
    assertThrows(PaydoubleException.class, () -> WebhookSignature.sign(BODY, " ", NOW));
  }
}
