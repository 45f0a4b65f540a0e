"""What the plugin costs a test run that does not use it."""

from __future__ import annotations

import subprocess
import sys

from children import Child

HEAVY = (
    "aiohttp",
    "pydantic",
    "orjson",
    "multidict",
    "yaml",
    "paydouble.signatures",
    "paydouble.config",
    "paydouble.core",
)


def test_nothing_is_loaded_before_a_test_asks() -> None:
    """Neither of a dependency nor of our own, so that there is nothing that could take its time."""
    program = (
        "import sys, pytest; before = set(sys.modules)\n"
        "import paydouble.testing.plugin\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    loaded = done.stdout.split()
    assert [name for name in loaded if name.partition(".")[0] == "paydouble"] == [
        "paydouble",
        "paydouble.testing",
        "paydouble.testing.plugin",
    ]
    assert len(loaded) < 10, loaded


def test_a_run_without_it_loads_nothing_either(child: Child) -> None:
    """To the end of the run: reports are looked at for tests that use it alone."""
    run = child(
        f"""
        import sys

        def test_ok():
            assert [name for name in {HEAVY} if name in sys.modules] == []

        def test_fails():
            assert False
        """,
        "-p",
        "no:hypothesispytest",
    )
    help_text = child("", "--help").text
    markers = child("", "--markers").text

    assert run.counts == {"passed": 1, "failed": 1}, run.text
    assert "paydouble timeline" not in run.text
    assert "--paydouble-url" in help_text
    assert "paydouble_token" in help_text
    assert "@pytest.mark.paydouble(scenario" in markers
