package shop;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.math.BigDecimal;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executors;

/** The HTTP server: the webhook endpoint, and the calls of a test driver. */
public final class Main {
    private static final int LONGEST_BODY = 1 << 20;

    private record Answer(int status, Map<String, Object> body) {}

    private final Shop shop;
    private final String webhookSecret;

    private Main(Shop shop, String webhookSecret) {
        this.shop = shop;
        this.webhookSecret = webhookSecret;
    }

    public static void main(String[] arguments) throws IOException {
        Books books = new Books(Path.of(setting("SHOP_DATA", null)));
        PaymentService service =
                new PaymentService(
                        setting("PAYMENTS_URL", null),
                        setting("PAYMENTS_KEY", null),
                        setting("PAYMENTS_SECRET", null),
                        Double.parseDouble(setting("SHOP_TIMEOUT", "10")),
                        Double.parseDouble(setting("SHOP_PAUSE_SCALE", "1")),
                        () -> Shop.now(books));
        boolean livemode = Boolean.parseBoolean(setting("PAYMENTS_LIVEMODE", "false"));
        Main main = new Main(new Shop(books, service, livemode), setting("WEBHOOK_SECRET", null));
        int port = Integer.parseInt(setting("PORT", "3000"));
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 128);
        server.setExecutor(Executors.newCachedThreadPool());
        server.createContext("/", main::handle);
        server.start();
    }

    private static String setting(String name, String otherwise) {
        String value = Optional.ofNullable(System.getenv(name)).orElse(otherwise);
        if (value == null) {
            System.err.println(name + " is not set");
            System.exit(2);
        }
        return value;
    }

    private void handle(HttpExchange exchange) throws IOException {
        Answer answer;
        try {
            answer = route(exchange);
        } catch (Shop.Refusal refusal) {
            answer = new Answer(refusal.status, Map.of("error", refusal.getMessage()));
        } catch (RuntimeException e) {
            e.printStackTrace();
            answer = new Answer(500, Map.of("error", "internal error"));
        }
        byte[] body = Json.write(answer.body()).getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "application/json");
        exchange.sendResponseHeaders(answer.status(), body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    private Answer route(HttpExchange exchange) throws IOException {
        byte[] body = exchange.getRequestBody().readNBytes(LONGEST_BODY);
        String[] path = exchange.getRequestURI().getRawPath().replaceFirst("^/", "").split("/");
        String order = path.length > 2 ? decode(path[2]) : null;
        if (order != null) {
            path[2] = "*";
        }
        switch (exchange.getRequestMethod() + " " + String.join("/", path)) {
            case "GET health":
                return ok(Map.of("status", "ok"));
            case "POST webhooks/payments":
                return webhook(exchange.getRequestHeaders().get("X-Service-Signature"), body);
            case "POST test/orders":
                Map<String, Object> placed = json(body);
                String id = Json.string(placed, "id");
                shop.place(id, number(placed), Json.string(placed, "currency"));
                return new Answer(201, shop.view(id));
            case "GET test/orders/*":
                return ok(shop.view(order));
            case "POST test/orders/*/pay":
            case "POST test/orders/*/retry":
                return ok(Map.of("status", shop.pay(order)));
            case "POST test/orders/*/return":
                return ok(Map.of("status", shop.customerReturned(order)));
            case "POST test/orders/*/refunds":
                Map<String, Object> refund = json(body);
                return ok(shop.refund(order, Json.string(refund, "id"), number(refund)));
            case "POST test/tick":
                shop.tick();
                return ok(Map.of());
            case "POST test/reset":
                shop.reset();
                return ok(Map.of());
            case "POST test/time":
                shop.setTime(Json.string(json(body), "now"));
                return ok(Map.of("now", shop.now().toString()));
            default:
                return new Answer(404, Map.of("error", "no such page"));
        }
    }

    private static String decode(String segment) {
        return URLDecoder.decode(segment.replace("+", "%2B"), StandardCharsets.UTF_8);
    }

    private Answer webhook(List<String> signature, byte[] body) {
        int status = Signature.check(signature, body, webhookSecret, shop.now());
        if (status != 200) {
            return new Answer(status, Map.of("error", "signature"));
        }
        shop.receive(Json.object(new String(body, StandardCharsets.UTF_8)));
        return ok(Map.of("received", true));
    }

    private static Answer ok(Map<String, Object> body) {
        return new Answer(200, body);
    }

    private static Map<String, Object> json(byte[] body) {
        return Json.object(new String(body, StandardCharsets.UTF_8));
    }

    /** The amount of a driver's call: a JSON number, or a string with one. */
    private static String number(Map<String, Object> call) {
        Object amount = call.get("amount");
        return amount instanceof BigDecimal number ? number.toPlainString() : String.valueOf(amount);
    }
}
