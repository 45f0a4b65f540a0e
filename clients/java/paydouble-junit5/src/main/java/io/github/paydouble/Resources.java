package io.github.paydouble;

/** Pay-ins, refunds, disputes or payouts, whose outcome a test can force. */
public sealed class Resources permits PayIns {
  final Control control;
  final String path;

  Resources(Control control, String path) {
    this.control = control;
    this.path = path;
  }

  /**
   * Moves an object to a state, now.
   *
   * @param id its id
   * @param state the new state
   * @return the object as it is now
   */
  public final Resource transition(String id, String state) {
    return transition(id, Transition.to(state));
  }

  /**
   * Moves an object to a state, now.
   *
   * @param id its id
   * @param transition the transition
   * @return the object as it is now
   */
  public final Resource transition(String id, Transition transition) {
    return Resource.of(control.call("POST", one(id) + "/transition", transition.members()));
  }

  final String one(String id) {
    return path + "/" + Control.segment(id);
  }
}
