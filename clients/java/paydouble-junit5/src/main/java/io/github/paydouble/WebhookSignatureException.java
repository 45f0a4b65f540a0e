package io.github.paydouble;

/** The signature of a webhook does not verify. */
public final class WebhookSignatureException extends PaydoubleException {
  private static final long serialVersionUID = 1;

  /** What a receiver answers. */
  private final int recommendedStatus;

  WebhookSignatureException(int recommendedStatus, String message) {
    super(message);
    this.recommendedStatus = recommendedStatus;
  }

  /** {@return what a receiver answers: 401 for a digest that does not fit, else 400} */
  public int recommendedStatus() {
    return recommendedStatus;
  }
}
