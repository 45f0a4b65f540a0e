/** A sandbox and a webhook receiver for each test of JUnit 5. */
package io.github.paydouble.junit5;
