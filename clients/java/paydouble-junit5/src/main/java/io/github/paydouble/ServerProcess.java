package io.github.paydouble;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Writer;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A server as a child process at a free port, which ends with this one. */
final class ServerProcess {
  /** The first line of the banner. */
  private static final Pattern ADDRESS = Pattern.compile("serves at\\s+(https?://\\S+)/api/v1");

  /**
   * Becomes the server. What waits beside it ends it when its standard input ends, and that ends
   * with this process, however this process ends.
   */
  private static final String SCRIPT =
      """
      exec 3<&0
      { cat; kill $$; } <&3 >/dev/null 2>&1 &
      exec "$0" serve --port 0 </dev/null 3<&-
      """;

  /** The exit status of a shell that does not find its command. */
  private static final int NOT_FOUND = 127;

  private ServerProcess() {}

  static Paydouble start(String command) {
    boolean windows = File.separatorChar == '\\';
    ProcessBuilder builder =
        windows
            ? new ProcessBuilder(command, "serve", "--port", "0")
            : new ProcessBuilder("sh", "-c", SCRIPT, command);
    // These would hide the banner, or move the control API to another port.
    builder.environment().remove("PAYDOUBLE_QUIET");
    builder.environment().remove("PAYDOUBLE_CONTROL_PORT");
    Process process;
    try {
      process = builder.redirectErrorStream(true).start();
    } catch (IOException e) {
      throw absent(command, e);
    }
    Runtime.getRuntime().addShutdownHook(new Thread(() -> end(process), "paydouble-end"));
    BufferedReader output =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    URI url = readAddress(command, process, output);
    Thread reader = new Thread(() -> drain(output), "paydouble-output");
    reader.setDaemon(true);
    reader.start();
    return Paydouble.at(url)
        .token(ServerFinder.variable(builder.environment(), ServerFinder.TOKEN))
        .onClose(() -> end(process))
        .connect();
  }

  private static PaydoubleException absent(String command, Throwable cause) {
    return new PaydoubleException(
        "`%s` is not on the PATH; docs/how-to/get-the-command.md says how to get it"
            .formatted(command),
        cause);
  }

  private static void end(Process process) {
    process.destroy();
    try {
      process.getOutputStream().close();
    } catch (IOException e) {
      // It has ended.
    }
  }

  private static URI readAddress(String command, Process process, BufferedReader output) {
    StringBuilder printed = new StringBuilder();
    try {
      for (String line = output.readLine(); line != null; line = output.readLine()) {
        Matcher address = ADDRESS.matcher(line);
        if (address.find()) {
          return URI.create(address.group(1));
        }
        printed.append(line).append('\n');
      }
    } catch (IOException e) {
      printed.append(e.getMessage());
    }
    end(process);
    try {
      if (process.waitFor() == NOT_FOUND) {
        throw absent(command, null);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    throw new PaydoubleException("`paydouble serve` did not start: " + printed.toString().strip());
  }

  /** The child would stop once the pipe is full. */
  private static void drain(BufferedReader output) {
    try (output) {
      output.transferTo(Writer.nullWriter());
    } catch (IOException e) {
      // The child has ended.
    }
  }
}
