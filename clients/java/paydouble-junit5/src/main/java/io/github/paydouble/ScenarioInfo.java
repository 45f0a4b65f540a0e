package io.github.paydouble;

/**
 * A scenario that a pay-in can play.
 *
 * @param name its name
 * @param summary what happens in it
 * @param source {@code shipped}, {@code uploaded}, or the path of its file
 * @param active whether every new pay-in plays it
 */
public record ScenarioInfo(String name, String summary, String source, boolean active) {}
