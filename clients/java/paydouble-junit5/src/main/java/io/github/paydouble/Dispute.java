package io.github.paydouble;

import java.math.BigDecimal;
import java.util.Map;

/** A dispute that arrives from the provider. */
public final class Dispute extends Spec<Dispute> {
  private Dispute(Map<String, Object> members) {
    super(members);
  }

  /** {@return a dispute about all that is not disputed yet} */
  public static Dispute ofAll() {
    return new Dispute(Map.of());
  }

  /**
   * Returns a dispute about an amount.
   *
   * @param amount the amount, in the currency of the pay-in
   * @return the dispute
   */
  public static Dispute of(BigDecimal amount) {
    return ofAll().with("amount", amount);
  }

  /**
   * Sets the reason.
   *
   * @param reason the reason
   * @return a copy with this member
   */
  public Dispute reason(String reason) {
    return with("reason", reason);
  }

  /** {@return a copy that may be about amounts which are disputed or charged back already} */
  public Dispute force() {
    return with("force", true);
  }

  @Override
  Dispute copy(Map<String, Object> members) {
    return new Dispute(members);
  }
}
