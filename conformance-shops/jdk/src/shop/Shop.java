package shop;

import static shop.Mistakes.mistake;

import java.io.IOException;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Currency;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.Stream;
import shop.PaymentService.Outcome;
import shop.PaymentService.Reply;
import shop.Row.Dispute;
import shop.Row.Order;
import shop.Row.Outgoing;
import shop.Row.Payment;
import shop.Row.Refund;
import shop.Row.Remote;

/**
 * The shop: orders, their payments, refunds and disputes.
 *
 * <p>There are two kinds of lock. A transaction of the books is short, and no call to the service is made
 * in it. The lock of an order is held while the shop creates something at the service, so that two clicks
 * make one deposit; events do not wait for it.
 */
final class Shop {
    /** The caller is refused, with an HTTP status and a message. */
    static final class Refusal extends RuntimeException {
        private static final long serialVersionUID = 1;
        final int status;

        Refusal(int status, String message) {
            super(message);
            this.status = status;
        }
    }

    private static final Duration KEY_VALIDITY = Duration.ofHours(24);
    private static final List<String> PROGRESS =
            List.of(Row.REQUESTED, "created", "needs_response", "pending", "processing", "under_review");
    private static final Set<String> FINAL =
            Set.of("succeeded", "failed", "cancelled", "won", "lost", "accepted", Row.REFUSED);

    private final Books books;
    private final PaymentService service;
    private final boolean expectedLivemode;
    private final Map<String, Object> orderLocks = new ConcurrentHashMap<>();
    private final Map<String, String> keysInMemory = new ConcurrentHashMap<>();
    private final Set<String> eventsInMemory = ConcurrentHashMap.newKeySet();
    private final ScheduledExecutorService queue =
            Executors.newSingleThreadScheduledExecutor(Books::daemon);

    Shop(Books books, PaymentService service, boolean expectedLivemode) {
        this.books = books;
        this.service = service;
        this.expectedLivemode = expectedLivemode;
    }

    // Orders

    void place(String id, String amountText, String currency) {
        if (id == null || id.isEmpty() || id.length() > 128) {
            throw new Refusal(400, "id: 1 to 128 characters are expected");
        }
        BigDecimal amount = amount(amountText, currency);
        transact(
                () -> {
                    Order order = books.get(Order.class, id);
                    if (order == null) {
                        order = new Order();
                        order.id = id;
                        order.amount = amount;
                        order.currency = currency;
                        books.save(order);
                    } else if (!order.amount.equals(amount) || !order.currency.equals(currency)) {
                        throw new Refusal(409, "order " + id + " has another amount or currency");
                    }
                });
    }

    Map<String, Object> view(String id) {
        return books.transaction(
                () -> {
                    Order order = order(id);
                    BigDecimal balance = received(order);
                    balance = balance.subtract(sum(order, Refund.class, Shop::holds));
                    balance = balance.subtract(sum(order, Dispute.class, Shop::isLost));
                    Map<String, Object> view = new LinkedHashMap<>();
                    view.put("id", id);
                    view.put("status", status(order));
                    view.put("shipped", order.shipped);
                    view.put("balance", balance.setScale(order.amount.scale()).toPlainString());
                    view.put("mails", order.mails);
                    view.put("request_id", order.requestId);
                    return view;
                });
    }

    private String status(Order order) {
        if (order.review) {
            return "review";
        }
        if (outgoing(order, Dispute.class).anyMatch(Shop::isLost)) {
            return "charged_back";
        }
        BigDecimal received = received(order);
        if (received.signum() > 0) {
            BigDecimal refunded = sum(order, Refund.class, row -> row.status.equals("succeeded"));
            String some = refunded.compareTo(received) < 0 ? "partly_refunded" : "refunded";
            return refunded.signum() > 0 ? some : "paid";
        }
        Payment payment = latest(order);
        if (payment == null) {
            return "unpaid";
        }
        String ended = payment.status.equals("cancelled") ? "cancelled" : "failed";
        return isFinal(payment) ? ended : "pending";
    }

    private Order order(String id) {
        Order order = books.get(Order.class, id);
        if (order == null) {
            throw new Refusal(404, "no order " + id);
        }
        return order;
    }

    private Stream<Payment> payments(Order order) {
        return books.all(Payment.class).filter(payment -> payment.orderId.equals(order.id));
    }

    private Payment latest(Order order) {
        return payments(order).max(Comparator.comparing(payment -> payment.number)).orElse(null);
    }

    private Payment accepted(Order order) {
        return payments(order).filter(payment -> payment.accepted).findFirst().orElse(null);
    }

    private BigDecimal received(Order order) {
        Payment payment = accepted(order);
        boolean paid = payment != null && payment.status.equals("succeeded");
        return paid ? order.amount : BigDecimal.ZERO;
    }

    private <R extends Outgoing> Stream<R> outgoing(Order order, Class<R> type) {
        Set<String> payins = ConcurrentHashMap.newKeySet();
        payments(order).map(row -> row.serviceId).filter(Objects::nonNull).forEach(payins::add);
        return books.all(type).filter(row -> row.payinId != null && payins.contains(row.payinId));
    }

    private <R extends Outgoing> BigDecimal sum(Order order, Class<R> type, Predicate<R> which) {
        Stream<BigDecimal> amounts = outgoing(order, type).filter(which).map(row -> row.amount);
        return amounts.reduce(BigDecimal.ZERO, BigDecimal::add);
    }

    /** A refund holds its money from the request on, and gives it back when it fails. */
    private static boolean holds(Refund refund) {
        return !refund.status.equals("failed") && !refund.status.equals(Row.REFUSED);
    }

    private static boolean isLost(Dispute dispute) {
        return dispute.status.equals("lost") || dispute.status.equals("accepted");
    }

    private static boolean isFinal(Remote row) {
        return FINAL.contains(row.status);
    }

    // Payments

    String pay(String orderId) {
        books.transaction(() -> order(orderId));
        synchronized (lock(orderId)) {
            Payment open = books.transaction(() -> openPayment(orderId));
            if (open == null) {
                Payment payment = books.transaction(() -> newPayment(order(orderId)));
                if (payment != null) {
                    create(payment, false, false);
                }
            } else if (open.status.equals(Row.REQUESTED)) {
                create(open, true, false);
            }
        }
        return (String) view(orderId).get("status");
    }

    /** The customer is back from the payment page: ask the service, do not believe the browser. */
    String customerReturned(String orderId) {
        Payment payment = books.transaction(() -> latest(order(orderId)));
        if (payment != null && mistake("trusts-return")) {
            transact(() -> succeeded(payment));
        } else if (payment != null) {
            reconcile(payment);
        }
        return (String) view(orderId).get("status");
    }

    private Payment openPayment(String orderId) {
        Payment latest = latest(order(orderId));
        return latest != null && !isFinal(latest) ? latest : null;
    }

    private Payment newPayment(Order order) {
        if (order.review || accepted(order) != null) {
            return null;
        }
        Map<String, Object> customer = new LinkedHashMap<>();
        customer.put("first_name", "Ana\u00efs");
        customer.put("last_name", "Keller");
        customer.put("email", "anais.keller@example.com");
        Map<String, Object> body = new LinkedHashMap<>();
        body.put("amount", order.amount);
        body.put("currency", order.currency);
        body.put("external_identifier", order.id);
        body.put("payment_method", Map.of("type", "CREDIT_CARD"));
        body.put("customer", customer);
        Payment payment = addPayment(order, (int) payments(order).count() + 1);
        prepare(payment, body);
        return payment;
    }

    private Payment addPayment(Order order, int number) {
        Payment payment = new Payment();
        payment.id = UUID.randomUUID().toString();
        payment.orderId = order.id;
        payment.number = number;
        books.save(payment);
        return payment;
    }

    /** The key and the exact body are in the books before the first byte is sent. */
    private void prepare(Remote row, Map<String, Object> body) {
        row.body = Json.write(body);
        row.key = UUID.randomUUID().toString();
        row.keyAt = now();
        if (mistake("key-not-stored")) {
            keysInMemory.put(row.id, row.key);
            row.key = null;
        }
        books.save(row);
    }

    private String key(Remote row, boolean resumed) {
        if (row instanceof Refund && resumed && mistake("refund-sent-again")) {
            return UUID.randomUUID().toString();
        }
        return row.key != null
                ? row.key
                : keysInMemory.computeIfAbsent(row.id, id -> UUID.randomUUID().toString());
    }

    /** Creates what the row asks for, or finds that it is there already. */
    private void create(Remote row, boolean resumed, boolean readFirst) {
        boolean expired = resumed && !now().isBefore(row.keyAt.plus(KEY_VALIDITY));
        if ((readFirst || expired) && !mistake("old-key-sent-again")) {
            Reply found = find(row);
            if (!found.done() || found.data() != null) {
                observe(row, found.object());
                return;
            }
        }
        if (expired && !mistake("old-key-sent-again")) {
            change(
                    row,
                    () -> {
                        row.key = UUID.randomUUID().toString();
                        row.keyAt = now();
                    });
        }
        String path =
                row instanceof Payment ? "/pay-in/deposit-creation" : "/refund/refund-creation";
        Reply reply = noted(row, service.post(path, key(row, resumed), row.body, resumed));
        boolean refused = reply.outcome() == Outcome.REFUSED;
        if (reply.outcome() == Outcome.CONFLICT || reply.outcome() == Outcome.REFUSED_LATER) {
            Reply found = find(row);
            refused = reply.outcome() != Outcome.CONFLICT && found.done() && found.data() == null;
            reply = found;
        }
        if (reply.done() && reply.data() != null) {
            observe(row, reply.object());
        } else if (reply.done() && mistake("success-not-checked")) {
            change(row, () -> row.status = "created");
        } else if (refused || mistake("timeout-is-refusal")) {
            change(row, () -> row.status = row.status.equals(Row.REQUESTED) ? Row.REFUSED : row.status);
        }
    }

    /** What the service has for a row whose reply was never read; done without data when it has none. */
    private Reply find(Remote row) {
        String filter =
                row instanceof Refund refund
                        ? "/refund?limit=100&payin_id=" + encode(refund.payinId)
                        : "/pay-in?limit=100&external_identifier=" + encode(row.orderId);
        Reply list = noted(row, service.get(filter));
        if (!list.done()) {
            return list;
        }
        List<Map<String, Object>> found = new ArrayList<>();
        Object page = list.data() instanceof List ? list.data() : list.object().get("items");
        if (page instanceof List<?> items) {
            items.forEach(item -> found.add(Json.map(item)));
        }
        String name = row instanceof Refund ? row.id : row.orderId;
        Map<String, Object> best =
                found.stream()
                        .filter(item -> name.equals(item.get("external_identifier")))
                        .filter(item -> Json.string(item, "id") != null && !isOther(row, item))
                        .max(Comparator.comparing(Shop::interest))
                        .orElse(null);
        return new Reply(Outcome.DONE, best, null);
    }

    /** Whether an object of the service belongs to another row: an earlier payment that failed. */
    private boolean isOther(Remote row, Map<String, Object> item) {
        return books.transaction(
                () ->
                        books.all(row.getClass())
                                .filter(other -> other != row && other.body != null)
                                .anyMatch(other -> item.get("id").equals(other.serviceId)));
    }

    private static int interest(Map<String, Object> item) {
        String status = String.valueOf(item.get("status"));
        return status.equals("succeeded") ? 2 : FINAL.contains(status) ? 0 : 1;
    }

    // Refunds

    Map<String, Object> refund(String orderId, String id, String amountText) {
        Order order = books.transaction(() -> order(orderId));
        if (id == null || id.isEmpty() || id.length() > 128) {
            throw new Refusal(400, "id: 1 to 128 characters are expected");
        }
        BigDecimal amount = amount(amountText, order.currency);
        synchronized (lock(orderId)) {
            Refund known = books.transaction(() -> books.get(Refund.class, id));
            if (known != null && !(orderId.equals(known.orderId) && amount.equals(known.amount))) {
                throw new Refusal(409, "refund " + id + " is another one");
            }
            Refund refund =
                    known != null ? known : books.transaction(() -> newRefund(order, id, amount));
            if (refund.status.equals(Row.REQUESTED)) {
                create(refund, known != null, false);
            }
            if (refund.status.equals(Row.REFUSED)) {
                throw new Refusal(422, "the service refused refund " + id);
            }
            return Map.of("id", id, "status", refund.status);
        }
    }

    private Refund newRefund(Order order, String id, BigDecimal amount) {
        Payment payment = accepted(order);
        BigDecimal left = received(order).subtract(sum(order, Refund.class, Shop::holds));
        left = left.subtract(sum(order, Dispute.class, dispute -> !dispute.status.equals("won")));
        if (payment == null || order.review || amount.compareTo(left) > 0) {
            throw new Refusal(422, "there is less than that to refund");
        }
        Map<String, Object> body = new LinkedHashMap<>();
        body.put("payin_id", payment.serviceId);
        body.put("amount", amount);
        body.put("external_identifier", id);
        Refund refund = new Refund();
        refund.id = id;
        refund.orderId = order.id;
        refund.payinId = payment.serviceId;
        refund.amount = amount;
        prepare(refund, body);
        return refund;
    }

    // Background jobs

    /** Resumes what got no reply, and reads what is still open. */
    void tick() {
        List<Remote> rows = new ArrayList<>();
        transact(
                () -> {
                    books.all(Payment.class).forEach(rows::add);
                    books.all(Refund.class).forEach(rows::add);
                    books.all(Dispute.class).forEach(rows::add);
                });
        rows.stream().filter(row -> !isFinal(row)).forEach(this::reconcile);
    }

    private void reconcile(Remote row) {
        synchronized (lock(row.orderId == null ? row.id : row.orderId)) {
            if (row.status.equals(Row.REQUESTED)) {
                create(row, true, true);
            } else if (row.serviceId != null && !isFinal(row)) {
                String kind =
                        row instanceof Payment ? "pay-in" : row instanceof Refund ? "refund" : "dispute";
                Reply reply = noted(row, service.get("/" + kind + "/" + encode(row.serviceId)));
                observe(row, reply.object());
            }
        }
    }

    /** Takes over what the service answered about a row. */
    private void observe(Remote row, Map<String, Object> data) {
        String status = Json.string(data, "status");
        if (Json.string(data, "id") != null && status != null) {
            String at = Json.string(data, "updated_at");
            change(row, () -> observe(row, data, status, at, expectedLivemode));
        }
    }

    private void observe(
            Remote row, Map<String, Object> data, String status, String at, Object livemode) {
        if (row.serviceId == null) {
            row.serviceId = Json.string(data, "id");
            adopt(row);
        }
        boolean again = row.status.equals("succeeded") && status.equals("succeeded");
        if (supersedes(row, status, at)) {
            row.status = status;
            row.statusAt = instant(at);
            row.statusAtText = at == null ? "" : at;
        } else if (!(again && mistake("dedup-in-memory"))) {
            return;
        }
        if (row instanceof Payment payment && status.equals("succeeded")) {
            Order order = order(payment.orderId);
            Payment accepted = accepted(order);
            boolean currency = order.currency.equals(data.get("currency"));
            boolean ours = Boolean.valueOf(expectedLivemode).equals(livemode);
            if (!(data.get("amount") instanceof BigDecimal amount)
                    || amount.compareTo(order.amount) != 0
                    || !(currency || mistake("currency-not-checked"))
                    || !(ours || mistake("livemode-ignored"))
                    || (accepted != null && accepted != payment)) {
                order.review = true;
                books.save(order);
            } else {
                succeeded(payment);
            }
        }
    }

    /** An event that names no refund of ours may have come before the reply: one refund, not two. */
    private void adopt(Remote row) {
        books.all(row.getClass())
                .filter(other -> other != row && row.serviceId.equals(other.serviceId))
                .filter(other -> other instanceof Refund && other.body == null)
                .findFirst()
                .ifPresent(
                        other -> {
                            row.status = other.status;
                            row.statusAt = other.statusAt;
                            other.status = Row.REFUSED;
                            other.serviceId = null;
                            books.save(other);
                        });
    }

    private void succeeded(Payment payment) {
        Order order = order(payment.orderId);
        payment.status = "succeeded";
        payment.accepted = true;
        order.shipped++;
        order.mails++;
        books.save(payment);
        books.save(order);
    }

    /**
     * Whether a status takes the place of the row's own. A final one stays, but for money that came in
     * after all, and for a later decision about money that left. Open ones follow their time; at equal
     * times the one that comes later in the lifecycle wins.
     */
    private static boolean supersedes(Remote row, String status, String at) {
        int later = instant(at).compareTo(row.statusAt);
        if (row.status.equals(status)) {
            return false;
        }
        if (mistake("last-arrival-wins")) {
            return true;
        }
        if (mistake("times-as-text")) {
            return at != null && at.compareTo(row.statusAtText) > 0;
        }
        if (isFinal(row)) {
            if (row.status.equals("cancelled") && mistake("cancelled-is-final")) {
                return false;
            }
            boolean money = row instanceof Payment && status.equals("succeeded");
            return money || (!(row instanceof Payment) && FINAL.contains(status) && later > 0);
        }
        boolean further = progress(status) > progress(row.status);
        return FINAL.contains(status) || later > 0 || (later == 0 && further);
    }

    /** A status that is not known is an open one, about as far as "pending". */
    private static int progress(String status) {
        int known = PROGRESS.indexOf(status);
        return known < 0 ? PROGRESS.indexOf("pending") : known;
    }

    // Events

    /** Takes in a verified event. One that is not for this shop, or not understood, changes nothing. */
    void receive(Map<String, Object> event) {
        if (mistake("acknowledge-before-work")) {
            queue.schedule(() -> take(event), 1, TimeUnit.SECONDS);
        } else {
            take(event);
        }
    }

    private void take(Map<String, Object> event) {
        String id = Json.string(event, "id");
        String type = Json.string(event, "type");
        Map<String, Object> data = Json.map(Json.map(event.get("data")).get("object"));
        if (id == null || type == null || Json.string(data, "id") == null) {
            return;
        }
        transact(
                () -> {
                    if (books.get(Row.Event.class, id) != null || eventsInMemory.contains(id)) {
                        return;
                    }
                    apply(event, id, type, data);
                    if (mistake("dedup-in-memory")) {
                        eventsInMemory.add(id);
                        return;
                    }
                    Row.Event seen = new Row.Event();
                    seen.id = id;
                    books.save(seen);
                });
    }

    private void apply(
            Map<String, Object> event, String eventId, String type, Map<String, Object> data) {
        String suffix = type.substring(type.indexOf('.') + 1);
        String told = Json.string(data, "status");
        String status = told == null ? suffix : told;
        if (!PROGRESS.contains(status) && !FINAL.contains(status) && mistake("enum-status")) {
            throw new IllegalArgumentException("No enum constant shop.Status." + status);
        }
        Remote row = null;
        // A final status under another event type is a contradiction: the next reading decides.
        boolean contradiction = FINAL.contains(status) && !status.equals(suffix);
        if (type.startsWith("pay-in.") && !contradiction) {
            row = paymentOf(data);
        } else if (type.startsWith("refund.") && !contradiction) {
            row = refundOf(data, eventId);
        } else if (type.startsWith("dispute.")) {
            row = outgoing(Dispute.class, new Dispute(), data, Json.string(data, "id"));
            boolean lost = suffix.equals("closed") && mistake("dispute-closed-is-lost");
            status = lost ? "lost" : status;
        }
        if (row != null) {
            books.save(row);
            observe(row, data, status, Json.string(event, "created_at"), event.get("livemode"));
        }
    }

    /** The payment of an event, also when the event overtook the reply of the creation. */
    private Payment paymentOf(Map<String, Object> data) {
        String serviceId = Json.string(data, "id");
        Payment known = byServiceId(Payment.class, serviceId);
        String orderId = Json.string(data, "external_identifier");
        Order order = orderId == null ? null : books.get(Order.class, orderId);
        if (known != null || order == null) {
            if (known == null && mistake("unknown-order-crashes")) {
                throw new NullPointerException("order");
            }
            return known;
        }
        Stream<Payment> unanswered = payments(order).filter(payment -> payment.serviceId == null);
        Payment latest = unanswered.max(Comparator.comparing(payment -> payment.number)).orElse(null);
        return latest == null ? addPayment(order, 0) : latest;
    }

    private Refund refundOf(Map<String, Object> data, String eventId) {
        Refund refund = new Refund();
        if (mistake("refund-booked-per-event")) {
            refund.status = "";
            return outgoing(Refund.class, refund, data, eventId);
        }
        String name = Json.string(data, "external_identifier");
        Refund own = name == null ? null : books.get(Refund.class, name);
        boolean ours =
                own != null && own.serviceId == null && own.payinId.equals(data.get("payin_id"));
        return ours ? own : outgoing(Refund.class, refund, data, Json.string(data, "id"));
    }

    private <R extends Outgoing> R outgoing(
            Class<R> type, R row, Map<String, Object> data, String id) {
        R known = byServiceId(type, Json.string(data, "id"));
        if (known != null && id.equals(data.get("id"))) {
            return known;
        }
        row.id = id;
        row.payinId = Json.string(data, "payin_id");
        row.amount = BigDecimal.ZERO;
        if (data.get("amount") instanceof BigDecimal amount && Math.abs(amount.scale()) < 15) {
            row.amount = amount;
        }
        return row;
    }

    private <R extends Remote> R byServiceId(Class<R> type, String serviceId) {
        return books.all(type).filter(row -> serviceId.equals(row.serviceId)).findFirst().orElse(null);
    }

    // The clock, and small helpers

    /** Sets the shop's clock to a time in ISO 8601, from which it goes on; null sets it right again. */
    void setTime(String text) {
        Instant real = Instant.now();
        Instant now = text == null ? real : OffsetDateTime.parse(text).toInstant();
        Duration ahead = Duration.between(real, now);
        Row.Clock clock = new Row.Clock();
        clock.id = "clock";
        clock.ahead = BigDecimal.valueOf(ahead.toMillis(), 3);
        transact(() -> books.save(clock));
    }

    Instant now() {
        return now(books);
    }

    /** The shop's time: the machine's, shifted if a test asked for that. */
    static Instant now(Books books) {
        Row.Clock clock = books.transaction(() -> books.get(Row.Clock.class, "clock"));
        long ahead = clock == null ? 0 : clock.ahead.movePointRight(3).longValue();
        return Instant.now().plusMillis(ahead);
    }

    void reset() throws IOException {
        books.clear();
        keysInMemory.clear();
        eventsInMemory.clear();
    }

    private static BigDecimal amount(String text, String currency) {
        try {
            boolean two = mistake("two-digits-always");
            int digits = two ? 2 : Currency.getInstance(currency).getDefaultFractionDigits();
            BigDecimal amount = new BigDecimal(text);
            if (digits >= 0 && amount.signum() > 0 && amount.precision() < 20 && amount.scale() > -20) {
                return amount.setScale(digits, two ? RoundingMode.HALF_UP : RoundingMode.UNNECESSARY);
            }
        } catch (IllegalArgumentException | ArithmeticException | NullPointerException e) {
            // Falls through to the refusal.
        }
        throw new Refusal(400, "amount " + text + " " + currency + " is not an amount of money");
    }

    /** The instant of an ISO 8601 text, with or without fractions of a second; the oldest if unusable. */
    private static Instant instant(String text) {
        if (text == null) {
            return Instant.EPOCH;
        }
        try {
            return OffsetDateTime.parse(text).toInstant();
        } catch (DateTimeException noOffset) {
            try {
                return LocalDateTime.parse(text).toInstant(ZoneOffset.UTC);
            } catch (DateTimeException unusable) {
                return Instant.EPOCH;
            }
        }
    }

    private Reply noted(Remote row, Reply reply) {
        transact(
                () -> {
                    Order order = row.orderId == null ? null : books.get(Order.class, row.orderId);
                    if (order != null && reply.errorId() != null) {
                        order.requestId = reply.errorId();
                        books.save(order);
                    }
                });
        return reply;
    }

    /** Changes a row, unless the books were emptied since it was read. */
    private void change(Remote row, Runnable work) {
        transact(
                () -> {
                    if (books.get(row.getClass(), row.id) == row) {
                        books.save(row);
                        work.run();
                    }
                });
    }

    private void transact(Runnable work) {
        books.transaction(
                () -> {
                    work.run();
                    return null;
                });
    }

    private Object lock(String orderId) {
        return orderLocks.computeIfAbsent(orderId, id -> new Object());
    }

    private static String encode(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }
}
