package io.github.paydouble;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Map;

/** The pay-ins of a sandbox. */
public final class PayIns extends Resources {
  PayIns(Control control, String path) {
    super(control, path);
  }

  /** {@return all pay-ins, oldest first, with what was refunded and disputed} */
  public List<Resource> list() {
    return control.list(JsonNode.class, path, Map.of()).stream().map(Resource::of).toList();
  }

  /**
   * Returns a pay-in, with what was refunded and disputed.
   *
   * @param id its id
   * @return the pay-in
   */
  public Resource get(String id) {
    return Resource.of(control.call("GET", one(id)));
  }

  /**
   * Returns what happened to a pay-in.
   *
   * @param id its id
   * @return an HTML page in one file
   */
  public String timelineHtml(String id) {
    return control.text("GET", one(id) + "/timeline.html", null);
  }

  /**
   * Makes a refund, as the merchant's staff does on the provider's own pages. No code of the
   * merchant has asked for it.
   *
   * @param id the id of the pay-in
   * @param refund the refund
   * @return the refund as it is now
   */
  public Resource refund(String id, Refund refund) {
    return Resource.of(control.call("POST", one(id) + "/refunds", refund.members()));
  }

  /**
   * Opens a dispute, as the provider does.
   *
   * @param id the id of the pay-in
   * @param dispute the dispute
   * @return the dispute as it is now
   */
  public Resource dispute(String id, Dispute dispute) {
    return Resource.of(control.call("POST", one(id) + "/disputes", dispute.members()));
  }
}
