package io.github.paydouble;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The deliveries of events. */
public final class Deliveries extends Journal<DeliveryMatch, Delivery> {
  Deliveries(Control control, String path) {
    super(control, path, "deliveries", Delivery.class);
  }

  /**
   * Returns the deliveries that match, oldest first.
   *
   * @param match what they are like; not by the number of attempts
   * @return the deliveries
   */
  public List<Delivery> list(DeliveryMatch match) {
    Map<String, Object> query = new LinkedHashMap<>(match.members());
    query.put("event_type", query.remove("type"));
    query.computeIfPresent("status", (name, status) -> Json.name((DeliveryStatus) status));
    return list(query);
  }

  /**
   * Returns a delivery with every attempt.
   *
   * @param id its id
   * @return the delivery
   */
  public Delivery get(String id) {
    return control.call(Delivery.class, "GET", one(id), null);
  }

  /**
   * Sends a delivery once more, now, whatever its status is.
   *
   * @param id its id
   * @return the delivery as it is now
   */
  public Delivery redeliver(String id) {
    return control.call(Delivery.class, "POST", one(id) + "/redeliver", null);
  }

  /**
   * Sends all failed deliveries again.
   *
   * @return their ids
   */
  public List<String> redeliverFailed() {
    return redeliverFailed(Map.of());
  }

  /**
   * Sends the deliveries again that have failed since an instant.
   *
   * @param since the instant, on the sandbox's clock
   * @return their ids
   */
  public List<String> redeliverFailed(Instant since) {
    return redeliverFailed(Map.of("since", since));
  }

  private List<String> redeliverFailed(Map<String, ?> body) {
    List<String> ids = new ArrayList<>();
    for (JsonNode id : control.call("POST", path + "/redeliver", body).path("redelivered")) {
      ids.add(id.asText());
    }
    return ids;
  }

  /**
   * Holds a delivery.
   *
   * @param id its id
   * @return the delivery as it is now
   */
  public Delivery hold(String id) {
    return control.call(Delivery.class, "POST", one(id) + "/hold", null);
  }

  /**
   * Sends a held delivery, now.
   *
   * @param id its id
   * @return the delivery as it is now
   */
  public Delivery release(String id) {
    return control.call(Delivery.class, "POST", one(id) + "/release", null);
  }

  private String one(String id) {
    return path + "/" + Control.segment(id);
  }
}
