package shop;

import java.lang.reflect.Field;
import java.math.BigDecimal;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;

/** A row of the books. Its public fields are what is written to the journal. */
abstract class Row {
    public String id;

    static final class Order extends Row {
        public BigDecimal amount;
        public String currency;
        public int shipped;
        public int mails;
        public boolean review;
        public String requestId;
    }

    /** Something at the service: this shop asked for it, or an event told of it. */
    abstract static class Remote extends Row {
        public String orderId;
        public String serviceId;
        public String key;
        public Instant keyAt;
        public String body;
        public String status = REQUESTED;
        public Instant statusAt = Instant.EPOCH;
        public String statusAtText = "";
    }

    static final class Payment extends Remote {
        public int number;
        public boolean accepted;
    }

    /** Money that leaves a payment again. */
    abstract static class Outgoing extends Remote {
        public String payinId;
        public BigDecimal amount;
    }

    static final class Refund extends Outgoing {}

    static final class Dispute extends Outgoing {}

    static final class Event extends Row {}

    /** The shop's clock: seconds ahead of the machine's. */
    static final class Clock extends Row {
        public BigDecimal ahead = BigDecimal.ZERO;
    }

    /** Not known to the service, as far as this shop has heard. */
    static final String REQUESTED = "(requested)";

    /** The service refused the request: nothing was made. */
    static final String REFUSED = "(refused)";

    Map<String, Object> toJson() {
        Map<String, Object> json = new LinkedHashMap<>();
        try {
            for (Field field : getClass().getFields()) {
                Object value = field.get(this);
                json.put(
                        field.getName(),
                        value instanceof Integer number
                                ? BigDecimal.valueOf(number)
                                : value instanceof Instant ? value.toString() : value);
            }
        } catch (IllegalAccessException e) {
            throw new AssertionError(e);
        }
        return json;
    }

    static <R extends Row> R fromJson(R row, Map<String, Object> json) {
        try {
            for (Field field : row.getClass().getFields()) {
                Object value = json.get(field.getName());
                if (field.getType() == int.class) {
                    value = ((BigDecimal) value).intValueExact();
                } else if (field.getType() == Instant.class && value != null) {
                    value = Instant.parse((String) value);
                }
                field.set(row, value);
            }
        } catch (IllegalAccessException e) {
            throw new AssertionError(e);
        }
        return row;
    }
}
