package shop;

import java.util.List;
import java.util.Optional;
import java.util.Set;

/** The mistakes that SHOP_MISTAKES switches on. mistakes.md describes each. */
final class Mistakes {
    private static final Set<String> ON =
            Set.copyOf(
                    List.of(Optional.ofNullable(System.getenv("SHOP_MISTAKES")).orElse("").split(",")));

    private Mistakes() {}

    static boolean mistake(String name) {
        return ON.contains(name);
    }
}
