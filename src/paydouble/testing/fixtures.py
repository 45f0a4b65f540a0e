"""What the plugin's fixtures do; loaded when a test asks for one."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from typing import Any, Final, NoReturn
from weakref import WeakKeyDictionary

import pytest

from paydouble.core.errors import UsageError
from paydouble.core.printable import printable
from paydouble.testing.calls import Sync
from paydouble.testing.errors import ControlRefused, ServerGone
from paydouble.testing.sandboxes import SandboxHandle
from paydouble.testing.servers import Paydouble
from paydouble.testing.socketless import Sandbox, holding, made_last
from paydouble.testing.timeline import happened, never_fired, timeline, unclaimed
from paydouble.testing.webhook_receiver import WebhookReceiver

_SANDBOX: Final = pytest.StashKey[SandboxHandle[Sync]]()
# The server, and when the sandbox was made: only unclaimed requests since then are shown.
_SERVER: Final = pytest.StashKey[tuple[Paydouble, datetime]]()
_RECEIVER: Final = pytest.StashKey[WebhookReceiver]()
_TITLE: Final = "paydouble timeline"
_FAILED: Final = pytest.StashKey[bool]()
# The arguments that the marker and `Paydouble.sandbox` take.
_MEMBERS: Final = ("scenario", "clock", "seed", "settings", "notification_url", "webhook_secret")
# Another argument of the marker.
_STRICT: Final = "strict_faults"
# The sandboxes without sockets that existed when a test began, and how much had happened in each.
_BEFORE: Final = pytest.StashKey["WeakKeyDictionary[Sandbox, int]"]()
_MOST_SANDBOXES: Final = 3


def server(config: pytest.Config) -> Iterator[Paydouble]:
    """Yield the session's server."""
    url = _option(config, "url")
    try:
        if url is None:
            running = Paydouble.start()
        else:
            running = Paydouble.connect(url, _option(config, "token"))
            running.health()
    except UsageError as error:
        raise _failure(f"--paydouble-url: {error}") from None
    except (ServerGone, ControlRefused) as error:
        raise _failure(f"{error} Start it with `paydouble serve`, or leave --paydouble-url out.") from None
    with running:
        yield running


def sandbox(node: pytest.Item, config: pytest.Config, server: object) -> Iterator[SandboxHandle[Sync]]:
    """Yield a test's sandbox."""
    if not isinstance(server, Paydouble):
        _clash("paydouble_server", server, "a Paydouble")
    members = {"clock": "manual", "seed": _seed(config), **_marked(node)}
    members.pop(_STRICT, None)
    try:
        made = server.sandbox(**members)
    except ControlRefused as error:
        hint = "; give --paydouble-token" if error.status == 401 else ""  # noqa: PLR2004 - HTTP
        raise _failure(f"the test's sandbox cannot be made: {error}{hint}") from None
    except (ServerGone, TypeError) as error:
        raise _failure(f"the test's sandbox cannot be made: {error}") from None
    node.stash[_SANDBOX] = made
    node.stash[_SERVER] = server, this_millisecond()
    yield made
    del node.stash[_SANDBOX]
    try:
        made.delete()
    except ControlRefused:
        pass  # the test itself has deleted it
    except ServerGone as error:
        if not node.stash.get(_FAILED, False):  # a test that has failed with it has said so
            raise _failure(str(error)) from None


def receiver(node: pytest.Item, sandbox: object) -> Iterator[WebhookReceiver]:
    """Yield a receiver of a sandbox's events."""
    if not isinstance(sandbox, SandboxHandle):
        _clash("paydouble", sandbox, "a sandbox")
    with WebhookReceiver(sandbox.webhook_secret) as listening:
        try:
            sandbox.change(notification_url=listening.url)
        except (ControlRefused, ServerGone) as error:
            raise _failure(f"the sandbox cannot be pointed to the test's receiver: {error}") from None
        node.stash[_RECEIVER] = listening
        yield listening
        del node.stash[_RECEIVER]


def begin(item: pytest.Item) -> None:
    """Note how much has happened in the sandboxes without sockets that there are already."""
    item.stash[_BEFORE] = WeakKeyDictionary({box: box.core.sandbox.journal.sequence for box in made_last()})


def check_faults(item: pytest.Item) -> Generator[None, object, object]:
    """Run a test, and fail it when a fault that it has armed never fired."""
    # A property-based test would be judged by its last example, and the fault may have fired in another one.
    property_based = _is_property(item)
    with nullcontext() if property_based else holding():
        result = yield
        idle: list[str] = []
        box = item.stash.get(_SANDBOX, None)
        if box is not None:
            # A sandbox that the test has deleted has no faults; a server that does not answer is reported elsewhere.
            with suppress(ControlRefused, ServerGone):
                idle += never_fired(happened(box), box.faults.list())
        for local in () if property_based else _used(item):
            idle += never_fired(happened(local), local.faults.list())
        if idle:
            raise _failure(
                "\n  ".join((f"{_STRICT}: the test has armed faults that never fired:", *idle))
                + f"\nTake them out, or mark the test with @pytest.mark.paydouble({_STRICT}=False)."
            )
    return result


def _is_property(item: pytest.Item) -> bool:
    return bool(getattr(getattr(item, "obj", None), "is_hypothesis_test", False))


def _used(item: pytest.Item) -> list[Sandbox]:
    """Return the sandboxes without sockets that a test has made or used, the oldest first."""
    before = item.stash.get(_BEFORE, None) or WeakKeyDictionary()
    used = [box for box in made_last() if before.get(box) != box.core.sandbox.journal.sequence]
    return used[-1:] if _is_property(item) else used[-_MOST_SANDBOXES:]


def sandboxes_of(item: pytest.Item) -> list[SandboxHandle[Sync] | Sandbox]:
    """Return the sandboxes that a test has used and that still exist."""
    box = item.stash.get(_SANDBOX, None)
    return [*([] if box is None else [box]), *_used(item)]


def explain(item: pytest.Item, report: pytest.TestReport) -> None:
    """Add the sandbox's timeline, its seed and the receiver's errors to a failed test's report."""
    item.stash[_FAILED] = True
    _leave_out_hint(report)
    box = item.stash.get(_SANDBOX, None)
    if box is not None:
        _explain_sandbox(item, report, box)
    for local in _used(item):
        lines = [f"sandbox without sockets, seed {local.seed}", *timeline(local)]
        lines += unclaimed(local.unclaimed_requests, local.auth.key)
        lines += _raised(local.failures)
        report.sections.append((_TITLE, "\n".join(map(printable, lines))))


def _leave_out_hint(report: pytest.TestReport) -> None:
    """Leave out pytest's hint that all frames are hidden: the text of a machine's failure says all that there is."""
    traceback = getattr(report.longrepr, "reprtraceback", None)
    if traceback is not None and str(getattr(traceback, "extraline", "")).startswith(
        "All traceback entries are hidden"
    ):
        traceback.extraline = None


def _raised(failures: Sequence[BaseException]) -> list[str]:
    return [f"the test's own receiver function has raised {failure!r}" for failure in failures]


def this_millisecond() -> datetime:
    """Return the time as the server writes it, in whole milliseconds.

    Otherwise what comes in the same millisecond would count as earlier.
    """
    now = datetime.now(UTC)
    return now.replace(microsecond=now.microsecond // 1000 * 1000)


def _explain_sandbox(item: pytest.Item, report: pytest.TestReport, box: SandboxHandle[Sync]) -> None:
    lines = [f"sandbox {box.id}, seed {box.seed}; repeat it with --paydouble-seed={box.seed}"]
    try:
        lines += timeline(box)
        server, since = item.stash[_SERVER]
        lines += unclaimed([each for each in server.unclaimed_requests() if each.at >= since], box.business_key)
    except (ServerGone, ControlRefused) as error:
        lines.append(f"what happened cannot be shown: {error}")
    listening = item.stash.get(_RECEIVER, None)
    if listening is not None:
        lines += _raised(listening.failures)
    report.sections.append((_TITLE, "\n".join(map(printable, lines))))


def _marked(node: pytest.Item) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for marker in node.iter_markers("paydouble"):  # the closest first
        unknown = [name for name in marker.kwargs if name not in {*_MEMBERS, _STRICT}]
        if marker.args or unknown:
            what = f"{unknown[0]!r} is not known" if unknown else "members are given by name"
            raise _failure(f"@pytest.mark.paydouble: {what}; there are: {', '.join((*_MEMBERS, _STRICT))}")
        members = {**marker.kwargs, **members}
    return members


def _seed(config: pytest.Config) -> int:
    text = _option(config, "seed") or "0"
    try:
        return int(text)
    except ValueError:
        raise _failure(f"--paydouble-seed: {text!r} is not a whole number") from None


def _option(config: pytest.Config, name: str) -> str | None:
    return config.getoption(f"paydouble_{name}") or config.getini(f"paydouble_{name}") or None


def _clash(name: str, found: object, wanted: str) -> NoReturn:
    raise _failure(
        f"the fixture {name!r} gave {type(found).__name__}, and paydouble's plugin needs {wanted}: another plugin or a "
        f"conftest.py has a fixture of that name. `pytest --fixtures -v` shows where; rename that one or let it give "
        f"{wanted}."
    )


def _failure(message: str) -> BaseException:
    """Return the failure of a test as one message, without a traceback."""
    return pytest.fail.Exception(message, pytrace=False)
