package io.github.paydouble;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Finds a server: the one at {@code PAYDOUBLE_URL}, one in a container, or a new process. */
final class ServerFinder {
  static final String URL = "PAYDOUBLE_URL";
  static final String TOKEN = "PAYDOUBLE_CONTROL_TOKEN";
  static final String RECEIVER_HOST = "PAYDOUBLE_RECEIVER_HOST";

  private ServerFinder() {}

  static Paydouble find(
      Map<String, String> environment, Iterable<ServerProvider> providers, String command) {
    String url = variable(environment, URL);
    if (url != null) {
      Paydouble server =
          Paydouble.at(Control.parse(url))
              .token(variable(environment, TOKEN))
              .receiverHost(variable(environment, RECEIVER_HOST))
              .connect();
      server.health();
      return server;
    }
    List<String> reasons = new ArrayList<>();
    for (ServerProvider provider : providers) {
      try {
        return provider.start();
      } catch (PaydoubleException e) {
        reasons.add(e.getMessage());
      }
    }
    if (reasons.isEmpty()) {
      reasons.add("io.github.paydouble:paydouble-testcontainers is not among the dependencies");
    }
    try {
      return ServerProcess.start(command);
    } catch (PaydoubleException e) {
      throw new PaydoubleException(
          """
          no paydouble server was found; one of these is needed:
            %s: it is not set; give it the address of a server, such as http://127.0.0.1:8080
            a container: %s
            a command: %s"""
              .formatted(URL, String.join("; ", reasons), e.getMessage()),
          e);
    }
  }

  /**
   * Returns a variable; null for a blank one, which is how CI services pass one that is not set.
   */
  static String variable(Map<String, String> environment, String name) {
    String value = environment.get(name);
    return value == null || value.isBlank() ? null : value;
  }
}
