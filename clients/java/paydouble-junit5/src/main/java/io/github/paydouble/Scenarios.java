package io.github.paydouble;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The scenarios that pay-ins play. */
public final class Scenarios {
  private final Control control;
  private final String path;

  Scenarios(Control control, String path) {
    this.control = control;
    this.path = path;
  }

  /** {@return all scenarios, by name} */
  public List<ScenarioInfo> list() {
    return control.list(ScenarioInfo.class, path, Map.of());
  }

  /**
   * Returns a scenario with its steps.
   *
   * @param name its name
   * @return the members of its file
   */
  public JsonNode get(String name) {
    return control.call("GET", one(name));
  }

  /** {@return the name of the scenario that every new pay-in plays, if there is one} */
  public Optional<String> active() {
    return Optional.ofNullable(control.call("GET", path + "/active").path("name").textValue());
  }

  /**
   * Uploads a scenario; it replaces another of its name.
   *
   * @param yaml the text of its file
   * @return the scenario
   */
  public ScenarioInfo upload(String yaml) {
    return upload(Map.of("yaml", yaml));
  }

  /**
   * Uploads a scenario; it replaces another of its name.
   *
   * @param scenario the members of its file
   * @return the scenario
   */
  public ScenarioInfo upload(Map<String, ?> scenario) {
    return control.call(ScenarioInfo.class, "POST", path, scenario);
  }

  /**
   * Lets every new pay-in play a scenario.
   *
   * @param name its name
   * @return the scenario
   */
  public ScenarioInfo activate(String name) {
    return control.call(ScenarioInfo.class, "PUT", path + "/active", Map.of("name", name));
  }

  /**
   * Deactivates the active scenario.
   *
   * @return its name, if there was one
   */
  public Optional<String> deactivate() {
    return Optional.ofNullable(
        control.call("DELETE", path + "/active").path("deleted").textValue());
  }

  /**
   * Makes a pay-in that plays a scenario.
   *
   * @param name the name of the scenario
   * @return the pay-in
   */
  public Resource play(String name) {
    return play(name, Map.of());
  }

  /**
   * Makes a pay-in that plays a scenario.
   *
   * @param name the name of the scenario
   * @param deposit members of the deposit, such as {@code amount} and {@code external_identifier}
   * @return the pay-in
   */
  public Resource play(String name, Map<String, ?> deposit) {
    Map<String, ?> body = deposit.isEmpty() ? Map.of() : Map.of("deposit", deposit);
    return Resource.of(control.call("POST", one(name) + "/play", body));
  }

  private String one(String name) {
    return path + "/" + Control.segment(name);
  }
}
