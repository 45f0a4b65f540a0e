/** A paydouble server in a container. */
package io.github.paydouble.testcontainers;
