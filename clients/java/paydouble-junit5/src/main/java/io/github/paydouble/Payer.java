package io.github.paydouble;

import java.util.Map;

/** The payer of a pay-in whose scenario waits for the payer. */
public final class Payer {
  private final Control control;
  private final String path;

  Payer(Control control, String path) {
    this.control = control;
    this.path = path;
  }

  /**
   * Pays.
   *
   * @return the pay-in as it is now
   */
  public Resource pay() {
    return act(Map.of("action", "pay"));
  }

  /**
   * Has the payment declined; the scenario decides why.
   *
   * @return the pay-in as it is now
   */
  public Resource decline() {
    return act(Map.of("action", "decline"));
  }

  /**
   * Has the payment declined.
   *
   * @param code the code of the failure, such as {@code card_declined}
   * @return the pay-in as it is now
   */
  public Resource decline(String code) {
    return act(Map.of("action", "decline", "code", code));
  }

  /**
   * Gives up.
   *
   * @return the pay-in as it is now
   */
  public Resource abandon() {
    return act(Map.of("action", "abandon"));
  }

  private Resource act(Map<String, ?> body) {
    return Resource.of(control.call("POST", path, body));
  }
}
