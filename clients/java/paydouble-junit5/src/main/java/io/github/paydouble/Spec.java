package io.github.paydouble;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What a control call is given: immutable, so that a constant can be shared by tests. Each method
 * returns a copy with one more member.
 *
 * @param <S> the class itself
 */
public abstract class Spec<S extends Spec<S>> {
  private final Map<String, Object> members;

  Spec(Map<String, Object> members) {
    this.members = Collections.unmodifiableMap(members);
  }

  abstract S copy(Map<String, Object> members);

  /**
   * Sets any member, by its name in the control API; for one that has no method here.
   *
   * @param name the name of the member, such as {@code journal_limit}
   * @param value a JSON value: text, number, {@code Duration}, {@code Instant}, map, list, or null
   * @return a copy with this member
   */
  public final S with(String name, Object value) {
    return copy(added(members, name, value));
  }

  /** {@return the members, as they are sent} */
  public final Map<String, Object> members() {
    return members;
  }

  /** {@return the members as JSON} */
  @Override
  public final String toString() {
    return new Body(Json.write(members)).text();
  }

  static Map<String, Object> added(Map<String, Object> members, String name, Object value) {
    Map<String, Object> copy = new LinkedHashMap<>(members);
    copy.put(name, value);
    return copy;
  }
}
