package io.github.paydouble;

import com.fasterxml.jackson.annotation.JsonFormat;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;

/**
 * One header, as it was sent.
 *
 * @param name the name
 * @param value the value
 */
@JsonFormat(shape = JsonFormat.Shape.ARRAY)
@JsonPropertyOrder({"name", "value"})
public record Header(String name, String value) {}
