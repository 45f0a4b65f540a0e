package io.github.paydouble;

import com.fasterxml.jackson.databind.JsonNode;
import java.math.BigDecimal;

/**
 * A pay-in, refund, dispute or payout.
 *
 * @param id its id
 * @param object what it is
 * @param status its status
 * @param document all its members, as the API shows them
 */
public record Resource(String id, String object, String status, JsonNode document) {
  static Resource of(JsonNode document) {
    return new Resource(
        document.path("id").asText(),
        document.path("object").asText(),
        document.path("status").asText(),
        document);
  }

  /**
   * Returns an amount with its exact digits.
   *
   * @param member its name, such as {@code amount} or {@code refunded_amount}
   * @return the amount
   */
  public BigDecimal amount(String member) {
    return document.required(member).decimalValue();
  }
}
