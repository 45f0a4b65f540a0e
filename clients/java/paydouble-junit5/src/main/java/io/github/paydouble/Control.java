package io.github.paydouble;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpTimeoutException;
import java.nio.channels.UnresolvedAddressException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Sends control calls to one server. Safe for use by several threads. */
final class Control {
  /** More than a local server ever needs. */
  static final Duration PATIENCE = Duration.ofSeconds(30);

  private static final String PREFIX = "/_paydouble";
  private static final String LARGEST_PAGE = "1000";

  private final HttpClient http =
      HttpClient.newBuilder()
          // Over plain HTTP the JDK's client would otherwise ask for an upgrade to HTTP/2.
          .version(HttpClient.Version.HTTP_1_1)
          .connectTimeout(PATIENCE)
          .build();
  private final URI url;
  private final String token;

  Control(URI url, String token) {
    boolean sound =
        ("http".equals(url.getScheme()) || "https".equals(url.getScheme()))
            && url.getHost() != null
            && (url.getPath().isEmpty() || url.getPath().equals("/"));
    if (!sound) {
      throw new PaydoubleException(notAnAddress(url));
    }
    this.url = url.resolve("/");
    this.token = token;
  }

  static URI parse(String url) {
    try {
      return URI.create(url.strip());
    } catch (IllegalArgumentException e) {
      throw new PaydoubleException(notAnAddress(url), e);
    }
  }

  private static String notAnAddress(Object url) {
    return "'%s' is not a server's URL; write it like http://localhost:8080".formatted(url);
  }

  URI url() {
    return url;
  }

  JsonNode call(String method, String path) {
    return call(method, path, null);
  }

  JsonNode call(String method, String path, Object body) {
    return call(method, path, body, PATIENCE);
  }

  <T> T call(Class<T> type, String method, String path, Object body) {
    return Json.convert(call(method, path, body), type);
  }

  JsonNode call(String method, String path, Object body, Duration patience) {
    JsonNode answer = Json.read(send(method, path, body, patience).body());
    if (!answer.isObject()) {
      throw new PaydoubleException(stranger());
    }
    return answer;
  }

  /** Returns an answer that is not JSON. */
  String text(String method, String path, Object body) {
    return new String(send(method, path, body, PATIENCE).body(), StandardCharsets.UTF_8);
  }

  /** Returns everything that a list holds, page by page. Members of the query may be null. */
  <T> List<T> list(Class<T> type, String path, Map<String, ?> query) {
    Map<String, Object> parameters = new LinkedHashMap<>(query);
    parameters.put("limit", LARGEST_PAGE);
    List<T> items = new ArrayList<>();
    JsonNode page;
    do {
      page = call("GET", path + "?" + encoded(parameters));
      page.path("items").forEach(item -> items.add(Json.convert(item, type)));
      parameters.put("cursor", page.path("next_cursor").textValue());
    } while (parameters.get("cursor") != null);
    return List.copyOf(items);
  }

  /** Returns a text as one segment of a path. */
  static String segment(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
  }

  private static String encoded(Map<String, ?> query) {
    return query.entrySet().stream()
        .filter(each -> each.getValue() != null)
        .map(each -> each.getKey() + "=" + segment(each.getValue().toString()))
        .collect(Collectors.joining("&"));
  }

  private HttpResponse<byte[]> send(String method, String path, Object body, Duration patience) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(url.resolve(PREFIX + path)).timeout(patience);
    if (body == null) {
      request.method(method, BodyPublishers.noBody());
    } else {
      request.header("Content-Type", "application/json");
      request.method(method, BodyPublishers.ofByteArray(Json.write(body)));
    }
    if (token != null) {
      request.header("Authorization", "Bearer " + token);
    }
    HttpResponse<byte[]> response;
    try {
      response = http.send(request.build(), BodyHandlers.ofByteArray());
    } catch (IOException e) {
      throw gone(method, path, patience, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new PaydoubleException("interrupted during %s %s".formatted(method, path), e);
    }
    if (response.statusCode() >= 300) {
      throw refused(method, path, response);
    }
    return response;
  }

  private ServerGoneException gone(String method, String path, Duration patience, IOException e) {
    String reason =
        e instanceof HttpTimeoutException
            ? "no answer within " + Json.format(patience)
            : e.getMessage() == null ? reason(e) : e.getMessage();
    return new ServerGoneException(
        "the paydouble server at %s does not answer %s %s (%s); is it running, and at this address?"
            .formatted(url, method, path, reason),
        e);
  }

  /** The JDK's client has no message for an address at which nothing listens, or for no address. */
  private static String reason(IOException e) {
    for (Throwable each = e; each != null; each = each.getCause()) {
      if (each instanceof UnresolvedAddressException) {
        return "the name of the host is not known";
      }
    }
    return e instanceof ConnectException ? "no connection" : e.getClass().getSimpleName();
  }

  private PaydoubleException refused(String method, String path, HttpResponse<byte[]> response) {
    int status = response.statusCode();
    JsonNode error = Json.read(response.body()).path("error");
    if (!error.isObject()) {
      return new PaydoubleException(stranger());
    }
    String member = error.path("member").asText("");
    String message = error.path("message").asText("%s %s was refused".formatted(method, path));
    return new ControlRefusedException(
        status,
        error.path("code").asText("refused"),
        member.isEmpty() || message.contains(member) ? message : member + ": " + message,
        member);
  }

  private String stranger() {
    return "the server at %s does not answer as paydouble does; is the address right?"
        .formatted(url);
  }
}
