package io.github.paydouble;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** The exact bytes of a request, an answer or an event. */
public final class Body {
  private final byte[] bytes;

  Body(byte[] bytes) {
    this.bytes = bytes.clone();
  }

  /** {@return a copy of the bytes} */
  public byte[] bytes() {
    return bytes.clone();
  }

  /** {@return the bytes as UTF-8; what is not UTF-8 is replaced} */
  public String text() {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  /**
   * Returns the bytes as JSON, with numbers as exact decimals.
   *
   * @return the value; a missing node when the bytes are not JSON
   */
  public JsonNode json() {
    return Json.read(bytes);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Body body && Arrays.equals(bytes, body.bytes);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(bytes);
  }

  /** {@return the text} */
  @Override
  public String toString() {
    return text();
  }
}
