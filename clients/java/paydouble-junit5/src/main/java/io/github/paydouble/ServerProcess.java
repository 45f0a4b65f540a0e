package io.github.paydouble;

import java.io.BufferedReader;
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

  private ServerProcess() {}

  static Paydouble start(String command) {
    ProcessBuilder builder =
        new ProcessBuilder(command, "serve", "--port", "0").redirectErrorStream(true);
    // These would hide the banner, or move the control API to another port.
    builder.environment().remove("PAYDOUBLE_QUIET");
    builder.environment().remove("PAYDOUBLE_CONTROL_PORT");
    Process process;
    try {
      process = builder.start();
    } catch (IOException e) {
      throw new PaydoubleException(
          "`%s` is not on the PATH: install it, for instance with `pipx install paydouble`"
              .formatted(command),
          e);
    }
    Thread end = new Thread(process::destroy, "paydouble-end");
    Runtime.getRuntime().addShutdownHook(end);
    BufferedReader output =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    URI url = readAddress(process, output);
    Thread reader = new Thread(() -> drain(output), "paydouble-output");
    reader.setDaemon(true);
    reader.start();
    return Paydouble.at(url)
        .token(builder.environment().get(ServerFinder.TOKEN))
        .onClose(process::destroy)
        .connect();
  }

  private static URI readAddress(Process process, BufferedReader output) {
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
    process.destroy();
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
