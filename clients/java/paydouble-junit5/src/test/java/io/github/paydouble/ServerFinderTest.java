package io.github.paydouble;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.paydouble.junit5.PaydoubleTest;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Finds a server in the documented order. */
class ServerFinderTest {
  private static final Map<String, String> NOTHING = Map.of();

  @PaydoubleTest
  void theAddressInTheEnvironmentIsFirst(Paydouble server) {
    Map<String, String> environment = Map.of("PAYDOUBLE_URL", server.url().toString());

    Paydouble found = ServerFinder.find(environment, List.of(ServerFinderTest::none), "none");

    assertEquals("ok", found.health().status());
    found.close();
    assertEquals("ok", server.health().status());
  }

  @Test
  void anAddressWithoutAServerIsAnError() {
    Map<String, String> environment = Map.of("PAYDOUBLE_URL", "http://127.0.0.1:1");

    assertThrows(
        ServerGoneException.class, () -> ServerFinder.find(environment, List.of(), "paydouble"));
  }

  @PaydoubleTest
  void aContainerIsSecond(Paydouble server) {
    assertSame(server, ServerFinder.find(NOTHING, List.of(() -> server), "none"));
  }

  @Test
  void aCommandIsThird() {
    assumeCommand();

    try (Paydouble found =
        ServerFinder.find(NOTHING, List.of(ServerFinderTest::none), "paydouble")) {
      assertEquals("ok", found.health().status());
    }
  }

  @Test
  void aServerEndsWithTheProcessThatIsKilled() throws Exception {
    assumeCommand();
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    String classPath = System.getProperty("java.class.path");
    Process process =
        new ProcessBuilder(java, "-cp", classPath, Halting.class.getName())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    String pid = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

    Optional<ProcessHandle> server = ProcessHandle.of(Long.parseLong(pid.strip()));

    if (server.isPresent()) {
      server.get().onExit().get(20, TimeUnit.SECONDS);
    }
  }

  /** Starts a server, prints its process id, and ends without a shutdown. */
  static final class Halting {
    private Halting() {}

    public static void main(String[] arguments) {
      Paydouble server = ServerProcess.start("paydouble");
      server.health();
      ProcessHandle child = ProcessHandle.current().children().findFirst().orElseThrow();
      System.out.println(child.pid());
      Runtime.getRuntime().halt(1);
    }
  }

  private static void assumeCommand() {
    Pattern separator = Pattern.compile(Pattern.quote(File.pathSeparator));
    assumeTrue(
        separator
            .splitAsStream(System.getenv("PATH"))
            .anyMatch(folder -> Files.isExecutable(Path.of(folder, "paydouble"))),
        "the command paydouble is not on the PATH");
  }

  @Test
  void withoutAServerTheErrorSaysWhatToDo() {
    PaydoubleException error =
        assertThrows(
            PaydoubleException.class,
            () -> ServerFinder.find(Map.of("PAYDOUBLE_URL", ""), List.of(), "no-such-command"));

    assertEquals(
        """
        no paydouble server was found; one of these is needed:
          PAYDOUBLE_URL: it is not set; give it the address of a server, such as \
        http://127.0.0.1:8080
          a container: io.github.paydouble:paydouble-testcontainers is not among the dependencies
          a command: `no-such-command` is not on the PATH; docs/how-to/get-the-command.md says how to \
        get it""",
        error.getMessage());
  }

  @Test
  void aContainerThatDoesNotStartSaysWhy() {
    PaydoubleException error =
        assertThrows(
            PaydoubleException.class,
            () -> ServerFinder.find(NOTHING, List.of(ServerFinderTest::none), "no-such-command"));

    assertTrue(error.getMessage().contains("a container: Docker does not run here"));
  }

  @Test
  void aCommandThatIsNotTheServerIsAnError() {
    PaydoubleException error =
        assertThrows(PaydoubleException.class, () -> ServerProcess.start("echo"));

    assertEquals("`paydouble serve` did not start: serve --port 0", error.getMessage());
  }

  private static Paydouble none() {
    throw new PaydoubleException("Docker does not run here");
  }
}
