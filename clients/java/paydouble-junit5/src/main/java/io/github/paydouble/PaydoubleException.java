package io.github.paydouble;

/** A call to a paydouble server has failed; the message says why and what to do. */
public class PaydoubleException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /**
   * Makes one.
   *
   * @param message what is wrong, and how to fix it
   */
  public PaydoubleException(String message) {
    super(message);
  }

  /**
   * Makes one that another exception has caused.
   *
   * @param message what is wrong, and how to fix it
   * @param cause the cause
   */
  public PaydoubleException(String message, Throwable cause) {
    super(message, cause);
  }
}
