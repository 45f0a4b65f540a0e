package io.github.paydouble;

/** No paydouble server answers: it was not started at this address, or it has ended. */
public final class ServerGoneException extends PaydoubleException {
  private static final long serialVersionUID = 1;

  ServerGoneException(String message, Throwable cause) {
    super(message, cause);
  }
}
