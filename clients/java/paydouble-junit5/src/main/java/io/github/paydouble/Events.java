package io.github.paydouble;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The events of a sandbox. */
public final class Events {
  private final Control control;
  private final String path;

  Events(Control control, String path) {
    this.control = control;
    this.path = path;
  }

  /** {@return all events, oldest first} */
  public List<Event> list() {
    return list(null, null);
  }

  /**
   * Returns the events of a type or about an object, oldest first.
   *
   * @param type the type; null for any
   * @param objectId the id of the object; null for any
   * @return the events
   */
  public List<Event> list(String type, String objectId) {
    Map<String, String> query = new LinkedHashMap<>();
    query.put("type", type);
    query.put("object_id", objectId);
    return control.list(Event.class, path, query);
  }

  /**
   * Returns the newest event.
   *
   * @return the event
   * @throws AssertionError when there is none
   */
  public Event last() {
    return Journal.last(list(), "events");
  }

  /**
   * Returns an event.
   *
   * @param id its id
   * @return the event
   */
  public Event get(String id) {
    return control.call(Event.class, "GET", path + "/" + Control.segment(id), null);
  }

  /**
   * Emits an event for an object that exists, with the object as it is now.
   *
   * @param type any documented type
   * @param objectId the id of the object
   * @return the event
   */
  public Event emit(String type, String objectId) {
    return control.call(Event.class, "POST", path, Map.of("type", type, "object_id", objectId));
  }
}
