package io.github.paydouble;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Speaks to servers that are not there, not ours, or have long lists. */
class ControlTest {
  @Test
  void aServerThatDoesNotAnswerIsNamed() {
    Paydouble gone = Paydouble.connect("http://127.0.0.1:1");

    ServerGoneException error = assertThrows(ServerGoneException.class, gone::health);

    assertEquals(
        "the paydouble server at http://127.0.0.1:1/ does not answer GET /health (no connection);"
            + " is it running, and at this address?",
        error.getMessage());
  }

  @Test
  void aHostThatIsNotKnownIsNamed() {
    Paydouble gone = Paydouble.connect("http://no-such-host.invalid:1");

    ServerGoneException error = assertThrows(ServerGoneException.class, gone::health);

    assertTrue(
        error.getMessage().contains("(the name of the host is not known)"), error.getMessage());
  }

  @ParameterizedTest
  @ValueSource(strings = {"localhost:8080", "http://", "http://a b", "http://localhost/api", ""})
  void whatIsNoAddressIsRefused(String url) {
    PaydoubleException error = assertThrows(PaydoubleException.class, () -> Paydouble.connect(url));

    assertEquals(
        "'%s' is not a server's URL; write it like http://localhost:8080".formatted(url),
        error.getMessage());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "200 | <h1>Welcome</h1>",
        "200 | []",
        "404 | <h1>No</h1>",
        "500 | {\"error\": \"no\"}"
      })
  void anotherServerIsRecognised(int status, String answer) throws IOException {
    HttpServer server = serve(status, query -> answer);
    try {
      Paydouble other = connect(server);

      PaydoubleException error = assertThrows(PaydoubleException.class, other::health);

      assertEquals(
          "the server at %s does not answer as paydouble does; is the address right?"
              .formatted(other.url()),
          error.getMessage());
    } finally {
      server.stop(0);
    }
  }

  @Test
  void aLongListIsReadPageByPage() throws IOException {
    String page = "{\"items\": [{\"business_key\": %s}], \"next_cursor\": %s}";
    HttpServer server =
        serve(
            200,
            query ->
                query.contains("cursor=a%26b")
                    ? page.formatted("\"last\"", null)
                    : page.formatted("\"first\"", "\"a&b\""));
    try {
      List<RecordedRequest> requests = connect(server).unclaimedRequests();

      assertEquals(
          List.of("first", "last"), requests.stream().map(RecordedRequest::businessKey).toList());
    } finally {
      server.stop(0);
    }
  }

  private static Paydouble connect(HttpServer server) {
    return Paydouble.connect("http://127.0.0.1:" + server.getAddress().getPort());
  }

  private static HttpServer serve(int status, Function<String, String> answer) throws IOException {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          try (exchange) {
            String query = String.valueOf(exchange.getRequestURI().getRawQuery());
            byte[] body = answer.apply(query).getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(status, body.length);
            exchange.getResponseBody().write(body);
          }
        });
    server.start();
    return server;
  }
}
