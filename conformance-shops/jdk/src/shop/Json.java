package shop;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON as plain values: Map, List, String, BigDecimal, Boolean and null. Numbers stay exact. */
final class Json {
    private static final int MAX_DEPTH = 100;
    private static final int MAX_NUMBER_LENGTH = 100;

    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    static Object parse(String text) {
        Json json = new Json(text);
        Object value = json.value(0);
        json.space();
        if (json.at < text.length()) {
            throw json.error("nothing more");
        }
        return value;
    }

    /** The object in a text, or an empty one when the text is not a JSON object. */
    static Map<String, Object> object(String text) {
        try {
            return map(parse(text));
        } catch (IllegalArgumentException notJson) {
            return Map.of();
        }
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> map(Object value) {
        return value instanceof Map ? (Map<String, Object>) value : Map.of();
    }

    static String string(Map<String, Object> object, String name) {
        return object.get(name) instanceof String text ? text : null;
    }

    static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(Object value, StringBuilder out) {
        if (value instanceof String text) {
            quote(text, out);
        } else if (value instanceof BigDecimal number) {
            out.append(number.toPlainString());
        } else if (value instanceof Map<?, ?> map) {
            char separator = '{';
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                quote((String) entry.getKey(), out.append(separator));
                write(entry.getValue(), out.append(':'));
                separator = ',';
            }
            out.append(map.isEmpty() ? "{}" : "}");
        } else if (value instanceof List<?> list) {
            char separator = '[';
            for (Object item : list) {
                write(item, out.append(separator));
                separator = ',';
            }
            out.append(list.isEmpty() ? "[]" : "]");
        } else {
            out.append(value);
        }
    }

    private static void quote(String text, StringBuilder out) {
        out.append('"');
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ' || c > '~') {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }

    private Object value(int depth) {
        if (depth > MAX_DEPTH) {
            throw error("less depth");
        }
        space();
        char c = at < text.length() ? text.charAt(at) : '\0';
        return switch (c) {
            case '{' -> members(depth);
            case '[' -> items(depth);
            case '"' -> quoted();
            case 't' -> word("true", true);
            case 'f' -> word("false", false);
            case 'n' -> word("null", null);
            default -> number();
        };
    }

    private Map<String, Object> members(int depth) {
        Map<String, Object> members = new LinkedHashMap<>();
        at++;
        if (accept('}')) {
            return members;
        }
        do {
            space();
            String name = quoted();
            expect(':');
            members.put(name, value(depth + 1));
        } while (accept(','));
        expect('}');
        return members;
    }

    private List<Object> items(int depth) {
        List<Object> items = new ArrayList<>();
        at++;
        if (accept(']')) {
            return items;
        }
        do {
            items.add(value(depth + 1));
        } while (accept(','));
        expect(']');
        return items;
    }

    private String quoted() {
        expect('"');
        StringBuilder out = new StringBuilder();
        while (at < text.length() && text.charAt(at) != '"') {
            char c = text.charAt(at++);
            out.append(c == '\\' ? escaped() : c);
        }
        expect('"');
        return out.toString();
    }

    private char escaped() {
        char c = at < text.length() ? text.charAt(at++) : '\0';
        return switch (c) {
            case '"', '\\', '/' -> c;
            case 'b' -> '\b';
            case 'f' -> '\f';
            case 'n' -> '\n';
            case 'r' -> '\r';
            case 't' -> '\t';
            case 'u' -> {
                if (at + 4 > text.length()) {
                    throw error("four hexadecimal digits");
                }
                at += 4;
                yield (char) Integer.parseInt(text.substring(at - 4, at), 16);
            }
            default -> throw error("an escape");
        };
    }

    private Object word(String word, Object value) {
        if (!text.startsWith(word, at)) {
            throw error(word);
        }
        at += word.length();
        return value;
    }

    private BigDecimal number() {
        int start = at;
        while (at < text.length() && "+-.0123456789eE".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        if (at == start || at - start > MAX_NUMBER_LENGTH) {
            throw error("a value");
        }
        return new BigDecimal(text.substring(start, at));
    }

    private void space() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    private boolean accept(char c) {
        space();
        boolean found = at < text.length() && text.charAt(at) == c;
        at += found ? 1 : 0;
        return found;
    }

    private void expect(char c) {
        if (!accept(c)) {
            throw error("'" + c + "'");
        }
    }

    private IllegalArgumentException error(String wanted) {
        return new IllegalArgumentException("JSON: expected " + wanted + " at character " + at);
    }
}
