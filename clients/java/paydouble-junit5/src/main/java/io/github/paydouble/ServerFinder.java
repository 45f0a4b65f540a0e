package io.github.paydouble;

import java.net.URI;
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
    String url = environment.getOrDefault(URL, "");
    if (!url.isBlank()) {
      Paydouble server =
          Paydouble.at(URI.create(url.strip()))
              .token(environment.get(TOKEN))
              .receiverHost(environment.get(RECEIVER_HOST))
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
      reasons.add(
          "add io.github.paydouble:paydouble-testcontainers to the tests, and have Docker run");
    }
    try {
      return ServerProcess.start(command);
    } catch (PaydoubleException e) {
      throw new PaydoubleException(
          """
          no paydouble server is found. Do one of these:
            %s is not set: start a server with `paydouble serve`, and set it to its address, \
          such as http://127.0.0.1:8080
            no container: %s
            no process: %s"""
              .formatted(URL, String.join("; ", reasons), e.getMessage()),
          e);
    }
  }
}
