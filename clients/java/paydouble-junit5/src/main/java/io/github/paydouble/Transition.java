package io.github.paydouble;

import java.util.Map;

/** A change of the state of an object that a test forces. */
public final class Transition extends Spec<Transition> {
  private Transition(Map<String, Object> members) {
    super(members);
  }

  /**
   * Returns a transition that the lifecycle allows.
   *
   * @param state the new state
   * @return the transition
   */
  public static Transition to(String state) {
    return new Transition(Map.of("to", state));
  }

  /**
   * Sets why it fails.
   *
   * @param code the code, such as {@code card_declined}
   * @param message a sentence
   * @return a copy with this member
   */
  public Transition failure(String code, String message) {
    return with("failure", Map.of("code", code, "message", message));
  }

  /** {@return a copy that may lead to any state} */
  public Transition force() {
    return with("force", true);
  }

  @Override
  Transition copy(Map<String, Object> members) {
    return new Transition(members);
  }
}
