"""`serve --init FILE`: a default sandbox with a past, from a run file or from a list of calls.

A list of calls is a YAML file. Each item is a call of the API, a call of the control API below the sandbox, or a time
that passes:

```yaml
- api: POST /pay-in/deposit-creation
  json: {amount: 49.90, currency: EUR, external_identifier: order-1, payment_method: {type: CREDIT_CARD}, customer: …}
- control: POST /scenarios/card-declined/play
- advance: 10s
```
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from paydouble.core.errors import UsageError
from paydouble.core.ids import DEFAULT_ID

if TYPE_CHECKING:
    from paydouble.inprocess import InProcess
    from paydouble.sandbox import Sandbox
    from paydouble.server import ServerOptions

_OPTION: Final = "--init"
_KINDS: Final = ("api", "control", "advance")
_MOST_BYTES: Final = 8 * 1024 * 1024
_YAML: Final = (".yaml", ".yml")
_SUCCESS: Final = range(200, 300)


def initial_sandbox(path: Path, options: ServerOptions) -> Sandbox:
    """Return the default sandbox of a server; `UsageError` or `RunFileError` says what of the file cannot be used."""
    if path.suffix.lower() in _YAML:
        return _of_calls(path, options)
    from paydouble.runfile.files import read_run
    from paydouble.runfile.lines import RunFileError
    from paydouble.runfile.restoring import restored

    try:
        return restored(read_run(path))
    except RunFileError as error:
        text = str(error)
        raise UsageError(text if text.startswith(str(path)) else f"{path}: {text}", member=_OPTION) from None


def _of_calls(path: Path, options: ServerOptions) -> Sandbox:
    from paydouble.inprocess import InProcess
    from paydouble.runtime.wall import wall_ms
    from paydouble.sandbox.identity import Identity

    calls = _read(path)
    spec, shared = options.default_sandbox, options.shared
    core = InProcess(
        spec.settings or shared.settings,
        start=wall_ms() if shared.clock.start is None else shared.clock.start,
        notification_url=spec.notification_url,
        library=shared.library,
        identity=Identity(
            spec.id or DEFAULT_ID,
            shared.seed if spec.seed is None else spec.seed,
            str(spec.business_key),
            str(spec.business_secret),
            str(spec.webhook_secret),
        ),
        paths=shared.paths,
    )
    for number, call in enumerate(calls, 1):
        try:
            _make(core, call)
        except (UsageError, ValueError) as error:
            raise UsageError(f"{path}: item {number}: {error}", member=_OPTION) from None
    return core.sandbox


def _read(path: Path) -> list[dict[str, Any]]:
    import yaml

    from paydouble.core.files import read_regular

    try:
        text = read_regular(path, _MOST_BYTES + 1)
        if len(text) > _MOST_BYTES:
            raise UsageError(f"{path} is larger than {_MOST_BYTES} bytes", member=_OPTION)
        calls = yaml.safe_load(text)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", member=_OPTION) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not YAML: {' '.join(str(error).split())[:200]}", member=_OPTION) from None
    if not isinstance(calls, list):
        raise UsageError(f"{path}: the file is a list of calls, each with api, control or advance", member=_OPTION)
    return calls


def _make(core: InProcess, call: Any) -> None:  # noqa: ANN401 - what the file holds
    kinds = [kind for kind in _KINDS if isinstance(call, dict) and kind in call]
    if len(kinds) != 1 or set(call) - {kinds[0], "json"} or (kinds[0] == "advance" and "json" in call):
        raise UsageError("an item has one of api, control and advance; api and control may have json")
    value = call[kinds[0]]
    if not isinstance(value, str):
        raise UsageError(f"{kinds[0]} is a text")
    if kinds[0] == "advance":
        from paydouble.core.durations import parse_duration

        core.advance(by=parse_duration(value))
        return
    method, _, target = value.partition(" ")
    if not target.startswith("/"):
        raise UsageError(f"{kinds[0]}: {value!r} is not a method and a path, such as POST /faults")
    if kinds[0] == "control":
        from paydouble.testing.calls import ask
        from paydouble.testing.in_process import LocalExecutor

        LocalExecutor(core).run(ask(method, f"/sandboxes/{core.identity.id}{target}", call.get("json")))
        return
    from paydouble.testing.calls import encode

    reply = core.handle(core.request(method, target, b"" if "json" not in call else encode(call["json"])))
    if reply.status not in _SUCCESS:
        answer = reply.body.decode("utf-8", "replace")[:300]
        raise UsageError(f"{method} {target} was answered {reply.status}: {answer}")
