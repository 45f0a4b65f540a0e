package io.github.paydouble;

import java.util.List;
import java.util.Map;

/** What goes wrong on purpose in a sandbox. */
public final class Faults {
  private final Control control;
  private final String path;

  Faults(Control control, String path) {
    this.control = control;
    this.path = path;
  }

  /**
   * Arms a fault.
   *
   * @param fault the fault
   * @return the fault as it is now
   */
  public ArmedFault add(Fault fault) {
    return control.call(ArmedFault.class, "POST", path, fault.members());
  }

  /** {@return all faults, in the order in which they are tried} */
  public List<ArmedFault> list() {
    return control.list(ArmedFault.class, path, Map.of());
  }

  /**
   * Returns a fault with its counts.
   *
   * @param id its id
   * @return the fault as it is now
   */
  public ArmedFault get(String id) {
    return control.call(ArmedFault.class, "GET", one(id), null);
  }

  /**
   * Changes members of a fault; its counts stay.
   *
   * @param id its id
   * @param changes the changes; null resets a member to its default
   * @return the fault as it is now
   */
  public ArmedFault change(String id, Fault changes) {
    return control.call(ArmedFault.class, "PATCH", one(id), changes.members());
  }

  /**
   * Removes a fault.
   *
   * @param id its id
   * @return how often it has fired
   */
  public int remove(String id) {
    return control.call("DELETE", one(id)).path("times_fired").asInt();
  }

  /**
   * Removes all faults.
   *
   * @return how many there were
   */
  public int clear() {
    return control.call("DELETE", path).path("deleted").asInt();
  }

  private String one(String id) {
    return path + "/" + Control.segment(id);
  }
}
