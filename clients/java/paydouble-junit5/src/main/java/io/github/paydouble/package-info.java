/**
 * A client of the control API of a paydouble server, a test double of a payment service.
 *
 * <p>{@link io.github.paydouble.Paydouble} is a server, {@link io.github.paydouble.Sandbox} an
 * isolated business on it, and {@link io.github.paydouble.WebhookReceiver} receives and verifies
 * its webhooks. All are safe for use by several threads. With JUnit a test takes them as
 * parameters: see {@link io.github.paydouble.junit5.PaydoubleTest}.
 *
 * <p>Calls throw {@link io.github.paydouble.ControlRefusedException} when the server refuses them,
 * and {@link io.github.paydouble.ServerGoneException} when it does not answer. {@code verify} and
 * {@code await} throw {@link AssertionError} with the near misses.
 */
package io.github.paydouble;
