package io.github.paydouble;

/** The server has refused a control call, and nothing was changed. */
public final class ControlRefusedException extends PaydoubleException {
  private static final long serialVersionUID = 1;

  /** The HTTP status. */
  private final int status;

  /** The stable code of the refusal. */
  private final String code;

  /** The path of the member that is wrong. */
  private final String member;

  ControlRefusedException(int status, String code, String message, String member) {
    super(message);
    this.status = status;
    this.code = code;
    this.member = member;
  }

  /** {@return the HTTP status, from 400 to 599} */
  public int status() {
    return status;
  }

  /** {@return the stable code of the refusal, such as {@code unknown_sandbox}} */
  public String code() {
    return code;
  }

  /** {@return the path of the member that is wrong, such as {@code effect.status}; else empty} */
  public String member() {
    return member;
  }
}
