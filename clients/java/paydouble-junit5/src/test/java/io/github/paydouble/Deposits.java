package io.github.paydouble;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.UUID;

/** Creates deposits, as code under test would. */
final class Deposits {
  private static final HttpClient HTTP =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private static final String DEPOSIT =
      """
      {"amount": 49.90, "currency": "EUR", "external_identifier": "%s",
       "payment_method": {"type": "CREDIT_CARD"},
       "customer": {"first_name": "Ada", "last_name": "Byron", "email": "ada@example.test"}}
      """;

  private Deposits() {}

  static HttpResponse<String> create(Sandbox sandbox, String order)
      throws IOException, InterruptedException {
    return create(sandbox, order, UUID.randomUUID());
  }

  static HttpResponse<String> create(Sandbox sandbox, String order, UUID key)
      throws IOException, InterruptedException {
    URI url = URI.create(sandbox.baseUrl() + "/pay-in/deposit-creation");
    HttpRequest request =
        HttpRequest.newBuilder(url)
            .header("Authorization", sandbox.authorization())
            .header("Content-Type", "application/json")
            .header("Idempotency-Key", key.toString())
            .POST(BodyPublishers.ofString(DEPOSIT.formatted(order)))
            .build();
    return HTTP.send(request, BodyHandlers.ofString());
  }
}
