package shop;

import static shop.Mistakes.mistake;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * The books: tables in memory, and a journal on disk. A transaction is one line of the journal, with
 * every row that it changed, so it is kept whole or not at all. It is on disk before its caller goes on.
 */
final class Books {
    private static final Map<Class<? extends Row>, Supplier<Row>> TYPES =
            Map.of(
                    Row.Order.class, Row.Order::new,
                    Row.Payment.class, Row.Payment::new,
                    Row.Refund.class, Row.Refund::new,
                    Row.Dispute.class, Row.Dispute::new,
                    Row.Event.class, Row.Event::new,
                    Row.Clock.class, Row.Clock::new);

    private final Map<Class<? extends Row>, Map<String, Row>> tables = new HashMap<>();
    private final Set<Row> changed = new LinkedHashSet<>();
    private final FileChannel journal;
    private final OutputStream buffered;

    Books(Path folder) throws IOException {
        Files.createDirectories(folder);
        Path file = folder.resolve("books.jsonl");
        journal =
                FileChannel.open(
                        file,
                        StandardOpenOption.CREATE,
                        StandardOpenOption.READ,
                        StandardOpenOption.WRITE);
        TYPES.keySet().forEach(type -> tables.put(type, new LinkedHashMap<>()));
        buffered = new BufferedOutputStream(Channels.newOutputStream(journal), 1 << 20);
        recover(Files.readAllBytes(file));
        if (mistake("books-written-later")) {
            Executors.newSingleThreadScheduledExecutor(Books::daemon)
                    .scheduleWithFixedDelay(this::flush, 3, 3, TimeUnit.SECONDS);
        }
    }

    /** Runs the work alone, and writes what it saved before it returns. */
    synchronized <T> T transaction(Supplier<T> work) {
        try {
            T result = work.get();
            if (!changed.isEmpty()) {
                append(Json.write(changed.stream().map(Books::entry).toList()) + "\n");
            }
            return result;
        } catch (IOException | RuntimeException e) {
            if (e instanceof RuntimeException refusal && changed.isEmpty()) {
                throw refusal;
            }
            // The tables are no longer what the journal says: stop, and start from the journal.
            e.printStackTrace();
            Runtime.getRuntime().halt(1);
            throw new AssertionError(e);
        } finally {
            changed.clear();
        }
    }

    void save(Row row) {
        keep(row);
        changed.add(row);
    }

    <R extends Row> R get(Class<R> type, String id) {
        return type.cast(tables.get(type).get(id));
    }

    <R extends Row> Stream<R> all(Class<R> type) {
        return tables.get(type).values().stream().map(type::cast);
    }

    synchronized void clear() throws IOException {
        tables.values().forEach(Map::clear);
        flush();
        journal.truncate(0);
        journal.position(0);
        journal.force(true);
    }

    private static Map<String, Object> entry(Row row) {
        return Map.of("table", row.getClass().getSimpleName(), "row", row.toJson());
    }

    private void append(String line) throws IOException {
        buffered.write(line.getBytes(StandardCharsets.UTF_8));
        if (!mistake("books-written-later")) {
            buffered.flush();
            journal.force(false);
        }
    }

    private synchronized void flush() {
        try {
            buffered.flush();
        } catch (IOException e) {
            e.printStackTrace();
        }
    }

    private void recover(byte[] bytes) throws IOException {
        // A line without its end was being written when the process died: it never counted.
        int end = bytes.length;
        while (end > 0 && bytes[end - 1] != '\n') {
            end--;
        }
        journal.truncate(end);
        journal.position(end);
        String text = new String(bytes, 0, end, StandardCharsets.UTF_8);
        text.lines().forEach(line -> ((List<?>) Json.parse(line)).forEach(this::restore));
    }

    private void restore(Object entry) {
        Map<String, Object> json = Json.map(entry);
        for (Map.Entry<Class<? extends Row>, Supplier<Row>> type : TYPES.entrySet()) {
            if (type.getKey().getSimpleName().equals(json.get("table"))) {
                keep(Row.fromJson(type.getValue().get(), Json.map(json.get("row"))));
            }
        }
    }

    private void keep(Row row) {
        tables.get(row.getClass()).put(row.id, row);
    }

    static Thread daemon(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        return thread;
    }
}
