package io.github.paydouble.junit5;

import io.github.paydouble.ClockMode;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * What the sandbox of a test is like; on the test, or on its class for all of its tests. The one
 * that is closest to the test counts as a whole.
 */
@Target({ElementType.METHOD, ElementType.TYPE, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Inherited
public @interface SandboxConfig {
  /** {@return how time passes} */
  ClockMode clock() default ClockMode.MANUAL;

  /** {@return the first instant of the clock, such as {@code 2026-01-01T00:00:00Z}; else now} */
  String start() default "";

  /** {@return the seed of every identifier and random value} */
  long seed() default 0;

  /** {@return the default scenario; else that of the server} */
  String scenario() default "";

  /** {@return settings as a JSON object, by their names in the settings reference; else none} */
  String settings() default "";
}
