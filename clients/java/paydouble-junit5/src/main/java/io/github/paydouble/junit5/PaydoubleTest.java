package io.github.paydouble.junit5;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * A test with a sandbox of its own.
 *
 * <pre>{@code
 * @PaydoubleTest
 * void aLostReplyIsNotChargedTwice(Sandbox sandbox) {
 *   sandbox.faults().add(Fault.connectionReset().operation("deposit-creation").afterCommit().times(1));
 *   new Shop(sandbox.baseUrl(), sandbox.authorization()).pay("order-18");
 *   sandbox.requests().verify(request().externalIdentifier("order-18").verdict(NEW), exactly(1));
 * }
 * }</pre>
 *
 * <p>It takes a {@code Sandbox}, a {@code WebhookReceiver} that gets the sandbox's events, and the
 * {@code Paydouble} server, in any order. {@link SandboxConfig} says what the sandbox is like.
 * Other kinds of tests get the same with {@code @ExtendWith(PaydoubleExtension.class)}.
 */
@Test
@ExtendWith(PaydoubleExtension.class)
@Target({ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
public @interface PaydoubleTest {}
