package io.github.paydouble;

import java.math.BigDecimal;
import java.util.Map;

/** A refund that the merchant's staff makes on the provider's own pages. */
public final class Refund extends Spec<Refund> {
  private Refund(Map<String, Object> members) {
    super(members);
  }

  /** {@return a refund of all that is left} */
  public static Refund ofAll() {
    return new Refund(Map.of());
  }

  /**
   * Returns a refund of an amount.
   *
   * @param amount the amount, in the currency of the pay-in
   * @return the refund
   */
  public static Refund of(BigDecimal amount) {
    return ofAll().with("amount", amount);
  }

  /**
   * Sets the reason.
   *
   * @param reason the reason
   * @return a copy with this member
   */
  public Refund reason(String reason) {
    return with("reason", reason);
  }

  @Override
  Refund copy(Map<String, Object> members) {
    return new Refund(members);
  }
}
