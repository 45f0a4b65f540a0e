import static org.junit.jupiter.api.Assertions.assertEquals;

import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Base64;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.DockerImageName;

/** The double in a container, from Java. */
class PaymentsTest {
    static final String IMAGE = System.getenv().getOrDefault("PAYDOUBLE_IMAGE", "paydouble");
    static final Pattern TYPE = Pattern.compile("\"type\": ?\"([a-z-]+\\.[a-z]+)\"");
    static final List<String> heard = new CopyOnWriteArrayList<>();
    static HttpServer receiver;
    static GenericContainer<?> container;

    @BeforeAll
    static void start() throws Exception {
        // Your own webhook endpoint; this one only remembers the types of events.
        receiver = HttpServer.create(new InetSocketAddress("0.0.0.0", 0), 0);
        receiver.createContext("/webhooks", exchange -> {
            var type = TYPE.matcher(new String(exchange.getRequestBody().readAllBytes()));
            heard.add(type.find() ? type.group(1) : "?");
            exchange.sendResponseHeaders(204, -1);
            exchange.close();
        });
        receiver.start();
        container = new GenericContainer<>(DockerImageName.parse(IMAGE))
            .withExposedPorts(8080)
            .withExtraHost("host.docker.internal", "host-gateway")
            .withEnv("PAYDOUBLE_CLOCK", "manual")
            .withEnv("PAYDOUBLE_NOTIFICATION_URL",
                "http://host.docker.internal:" + receiver.getAddress().getPort() + "/webhooks")
            .waitingFor(Wait.forHttp("/_paydouble/health").forPort(8080));
        container.start();
    }

    @AfterAll
    static void stop() {
        container.stop();
        receiver.stop(0);
    }

    @Test
    void aMinuteLaterTheDepositIsPaid() throws Exception {
        var basic = Base64.getEncoder().encodeToString("sandbox_key:sandbox_secret".getBytes());
        post("/api/v1/pay-in/deposit-creation",
            """
            {"amount": 49.90, "currency": "EUR", "external_identifier": "order-1",
             "payment_method": {"type": "CREDIT_CARD"},
             "customer": {"first_name": "Ada", "last_name": "Byron", "email": "ada@example.test"}}
            """,
            "Authorization", "Basic " + basic, "Idempotency-Key", UUID.randomUUID().toString());

        post("/_paydouble/sandboxes/default/clock/advance", "{\"by\": \"1m\"}");

        assertEquals(List.of("pay-in.created", "pay-in.pending", "pay-in.processing", "pay-in.succeeded"), heard);
    }

    static void post(String path, String body, String... headers) throws Exception {
        var address = URI.create("http://" + container.getHost() + ":" + container.getMappedPort(8080) + path);
        var request = HttpRequest.newBuilder(address).header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body));
        for (int at = 0; at < headers.length; at += 2) {
            request.header(headers[at], headers[at + 1]);
        }
        var response = HttpClient.newHttpClient().send(request.build(), HttpResponse.BodyHandlers.ofString());
        assertEquals(200, response.statusCode(), response.body());
    }
}
