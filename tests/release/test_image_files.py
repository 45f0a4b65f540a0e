"""The Dockerfile, compose.yaml and the pages about them are about files, options and ports that exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from paydouble.cli.healthcheck import healthcheck
from paydouble.cli.main import run
from paydouble.cli.receive import receive
from paydouble.cli.serve import serve
from paydouble.scenarios.reading import read_scenario

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
EXAMPLES = sorted(path for path in (ROOT / "examples").rglob("*") if path.is_file() and path.suffix != ".pyc")
SPOKEN = [
    *(ROOT / name for name in ("Dockerfile", "compose.yaml", "tools/image_proof.py", "SECURITY.md")),
    *(ROOT / "docs" / "how-to" / f"{name}.md" for name in ("run-the-image", "run-in-ci", "testcontainers")),
    *EXAMPLES,
]
# Not options of a command: which image compose and the samples of Testcontainers take.
OURS = {"PAYDOUBLE_IMAGE"}


def variables() -> set[str]:
    """Return every variable of the environment that a command reads."""
    found: set[str] = set()
    for command in (serve, healthcheck, receive):
        for parameter in command.params:
            names = parameter.envvar if isinstance(parameter, click.Option) else None
            found.update([names] if isinstance(names, str) else names or ())
    return found


def image_environment() -> dict[str, str]:
    """Return what the Dockerfile sets in the last stage."""
    last = DOCKERFILE.rpartition("\nFROM ")[2]
    return dict(re.findall(r"(PAYDOUBLE_\w+)=(\S+)", re.sub(r"^#.*$", "", last, flags=re.MULTILINE)))


@pytest.mark.parametrize("path", SPOKEN, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_variable_that_is_named_exists(path: Path) -> None:
    """A file names no PAYDOUBLE_ variable that no command reads."""
    named = set(re.findall(r"\bPAYDOUBLE_[A-Z_]*[A-Z]\b", path.read_text("utf-8")))

    assert named - variables() - OURS == set()


def test_every_option_has_a_variable() -> None:
    """In a container each option of `serve` can be given by the environment alone."""
    assert [parameter.name for parameter in serve.params if not parameter.envvar] == []


def test_the_folder_of_scenarios_is_there_when_nothing_is_mounted() -> None:
    """The image makes the folder that its environment names, and an empty folder of scenarios is no mistake."""
    folder = image_environment()["PAYDOUBLE_SCENARIOS"]

    assert re.search(rf"^WORKDIR {folder}$", DOCKERFILE, re.MULTILINE)


def test_the_page_lists_what_the_image_sets() -> None:
    """The table of docs/how-to/run-the-image.md is the Dockerfile's environment."""
    page = (ROOT / "docs" / "how-to" / "run-the-image.md").read_text("utf-8")

    assert dict(re.findall(r"^\| `(PAYDOUBLE_\w+)` \| `(\S+)` \|", page, re.MULTILINE)) == image_environment()


def test_the_image_says_what_it_is() -> None:
    """It has a title, a description, a licence and a vendor, runs as a number that is not root, and checks itself."""
    labels = set(re.findall(r"org\.opencontainers\.image\.(\w+)=", DOCKERFILE))

    assert labels == {"title", "description", "licenses", "vendor"}
    assert re.search(r"^USER [1-9]\d*:[1-9]\d*$", DOCKERFILE, re.MULTILINE)
    assert re.search(r'^HEALTHCHECK .*CMD \["paydouble", "healthcheck"\]$', DOCKERFILE, re.MULTILINE)


def test_compose_fits_together() -> None:
    """Events go to the merchant at its port, the merchant calls the double at its own, and mounted folders exist."""
    double, merchant = (COMPOSE["services"][name] for name in ("paydouble", "merchant"))
    port = merchant["environment"]["PORT"]

    assert double["environment"]["PAYDOUBLE_NOTIFICATION_URL"] == f"http://merchant:{port}/webhooks"
    assert merchant["environment"]["PAYMENT_URL"] == f"http://paydouble:{image_environment()['PAYDOUBLE_PORT']}/api/v1"
    assert f"ARG PYTHON_VERSION={merchant['image'].removeprefix('python:').removesuffix('-slim')}\n" in DOCKERFILE
    for service in (double, merchant):
        assert all(published.startswith("127.0.0.1:") for published in service["ports"])
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        for mounted in service["volumes"]:
            assert (ROOT / mounted.split(":")[0]).is_dir()


def test_the_sample_scenarios_can_be_played(capsys: pytest.CaptureFixture[str]) -> None:
    """Each file of examples/scenarios reads, plays, and does what it expects."""
    for path in (ROOT / "examples" / "scenarios").glob("*.yaml"):
        assert read_scenario(path).name == path.stem

    assert run(["scenario", "check", "--play", str(ROOT / "examples" / "scenarios")]) == 0, capsys.readouterr()


def test_the_page_of_testcontainers_shows_the_samples() -> None:
    """Each snippet of the page stands in the complete file that the page links to, apart from its indentation."""
    page = (ROOT / "docs" / "how-to" / "testcontainers.md").read_text("utf-8")

    def bare(text: str) -> str:
        return "\n".join(line.strip() for line in text.splitlines())

    whole = "\n".join(bare(path.read_text("utf-8")) for path in EXAMPLES if "testcontainers" in path.parts)

    snippets = re.findall(r"```\w+\n(.*?)```", page, re.DOTALL)
    assert len(snippets) == 4
    assert [snippet for snippet in snippets if bare(snippet) not in whole] == []
