package io.github.paydouble;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamWriteFeature;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.JsonSerializer;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.Locale;
import java.util.function.Function;

/** JSON as the control API reads and writes it: exact decimals, and types of {@code java.time}. */
final class Json {
  private static final ObjectMapper MAPPER =
      JsonMapper.builder()
          .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
          .enable(MapperFeature.ACCEPT_CASE_INSENSITIVE_ENUMS)
          .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
          .enable(StreamWriteFeature.WRITE_BIGDECIMAL_AS_PLAIN)
          .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
          // A newer server may show more than this client knows.
          .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
          .enable(DeserializationFeature.READ_UNKNOWN_ENUM_VALUES_AS_NULL)
          .addModule(
              new SimpleModule()
                  .addSerializer(Duration.class, asText(Json::format))
                  .addSerializer(Instant.class, asText(Instant::toString))
                  .addSerializer(Enum.class, asText(Json::name))
                  .addDeserializer(Instant.class, new InstantReader())
                  .addDeserializer(Body.class, new BodyReader()))
          .build();
  private static final String[] UNITS = {"d", "h", "m", "s", "ms"};
  private static final long[] MILLISECONDS = {86_400_000, 3_600_000, 60_000, 1000, 1};

  private Json() {}

  static byte[] write(Object value) {
    try {
      return MAPPER.writeValueAsBytes(value);
    } catch (JsonProcessingException e) {
      // Jackson wraps what a serializer of ours throws.
      if (e.getCause() instanceof PaydoubleException refused) {
        throw refused;
      }
      throw new PaydoubleException("this cannot be sent as JSON: " + e.getOriginalMessage(), e);
    }
  }

  /** Returns a missing node for what is not JSON. */
  static JsonNode read(byte[] json) {
    try {
      return MAPPER.readTree(json);
    } catch (IOException e) {
      return MissingNode.getInstance();
    }
  }

  static JsonNode read(String json) {
    return read(json.getBytes(StandardCharsets.UTF_8));
  }

  static <T> T convert(JsonNode node, Class<T> type) {
    try {
      return MAPPER.treeToValue(node, type);
    } catch (JsonProcessingException e) {
      throw new PaydoubleException(
          "the server's answer is not as this client expects, so their versions may differ: "
              + e.getOriginalMessage(),
          e);
    }
  }

  /** Returns a length of time in the notation of the control API: {@code 1h30m}, {@code 250ms}. */
  static String format(Duration duration) {
    if (duration.isNegative()) {
      throw new PaydoubleException(
          "the duration %s is negative; give zero or more".formatted(duration));
    }
    StringBuilder text = new StringBuilder();
    long rest = duration.toMillis();
    for (int unit = 0; unit < UNITS.length; unit++) {
      if (rest >= MILLISECONDS[unit]) {
        text.append(rest / MILLISECONDS[unit]).append(UNITS[unit]);
        rest %= MILLISECONDS[unit];
      }
    }
    return text.isEmpty() ? "0s" : text.toString();
  }

  /** Returns the name of a constant as it is in JSON. */
  static String name(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT);
  }

  private static <T> JsonSerializer<T> asText(Function<? super T, String> format) {
    return new JsonSerializer<>() {
      @Override
      public void serialize(T value, JsonGenerator json, SerializerProvider provider)
          throws IOException {
        json.writeString(format.apply(value));
      }
    };
  }

  private static final class InstantReader extends JsonDeserializer<Instant> {
    @Override
    public Instant deserialize(JsonParser json, DeserializationContext context) throws IOException {
      return Instant.parse(json.getText());
    }
  }

  /** Reads text, or {@code {"base64": …}} for bytes that are not UTF-8. */
  private static final class BodyReader extends JsonDeserializer<Body> {
    @Override
    public Body deserialize(JsonParser json, DeserializationContext context) throws IOException {
      JsonNode node = json.readValueAsTree();
      return new Body(
          node.isTextual()
              ? node.textValue().getBytes(StandardCharsets.UTF_8)
              : Base64.getDecoder().decode(node.path("base64").asText()));
    }
  }
}
