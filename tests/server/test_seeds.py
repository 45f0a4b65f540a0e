"""Seeds that nobody has given: new where a receiver may remember, repeatable where a run can be repeated."""

import pytest

from paydouble.core.errors import UsageError
from paydouble.runtime.host import Host, HostOptions, SandboxSpec, server_seed
from paydouble.sandbox import Sandbox


async def _made(seed: int, *ids: str | None) -> list[Sandbox]:
    """Return sandboxes of a server's seed, each deleted before the next is made."""
    host = Host(HostOptions(seed=seed))
    made = []
    for sandbox_id in ids:
        made.append(host.create(SandboxSpec(id=sandbox_id)))
        await host.delete(made[-1])
    await host.close()
    return made


def test_a_server_on_a_real_clock_has_a_new_seed() -> None:
    """It is below 2^53, so that a client with binary floats can send it back."""
    seeds = {server_seed(None, "real") for _ in range(20)}

    assert len(seeds) == 20
    assert all(0 <= seed < 2**53 for seed in seeds)


@pytest.mark.parametrize(
    ("given", "clock", "seed"),
    [
        (None, "manual", 0),
        (None, "auto", 0),
        (7, "real", 7),
        (-(2**63), "manual", -(2**63)),
        (2**63 - 1, "auto", 2**63 - 1),
    ],
)
def test_any_other_server_can_be_repeated(given: int | None, clock: str, seed: int) -> None:
    """A given seed is used; a clock that a test moves goes with a fixed one."""
    assert server_seed(given, clock) == seed  # type: ignore[arg-type]  # a parameter is any text to mypy


@pytest.mark.parametrize("seed", [2**63, -(2**63) - 1, 10**30])
def test_a_seed_that_no_answer_could_show_is_refused(seed: int) -> None:
    """The error has the bounds."""
    with pytest.raises(UsageError, match=r"seed: -?[0-9]+ is too large; a seed .* from -2\^63 to 2\^63-1"):
        server_seed(seed, "real")


async def test_a_made_up_seed_is_below_2_to_the_53() -> None:
    """This holds for every id, and each has another seed."""
    seeds = {box.identity.seed for box in await _made(1, *(f"box-{number}" for number in range(200)))}

    assert len(seeds) == 200
    assert all(0 <= seed < 2**53 for seed in seeds)
    assert max(seeds) > 2**50


async def test_a_sandbox_that_is_made_again_has_other_ids() -> None:
    """This holds for the same name too; the same server seed and calls give the same seeds."""
    names = ("mine", "mine", "other", "mine")
    first, again = [[box.identity.seed for box in await _made(5, *names)] for _ in range(2)]

    assert len(set(first)) == 4
    assert first == again
    assert [box.identity.seed for box in await _made(5, "mine")] == first[:1]


async def test_what_was_made_is_not_remembered_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that makes sandboxes with ever new names remembers a bounded number of them, the latest."""
    monkeypatch.setattr("paydouble.runtime.host._REMEMBERED_IDS", 2)
    one, two, _, two_again, one_again = await _made(5, "one", "two", "three", "two", "one")

    assert two.identity.seed != two_again.identity.seed
    assert one.identity.seed == one_again.identity.seed
