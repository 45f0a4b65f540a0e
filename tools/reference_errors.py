"""The page of errors, made from the code where possible; `tools/reference.py` writes it."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Final

from paydouble.api.envelopes import SNAKE_CODES
from paydouble.core.errors import EDGE_CODES, STATUS
from paydouble.core.exit_status import MEANINGS, ExitStatus
from paydouble.webhooks import diagnosis
from paydouble.webhooks.signing import SignatureError
from paydouble.webhooks.trials import BODY_TRIALS, HEADER_SHAPES, HEADER_TRIALS, SECRET_TRIALS, Mistake

_CONTROL: Final = (
    (400, "invalid", "the call, its body or one of its members cannot be used; `member` is the path of the member"),
    (401, "unauthorized", "the control token is missing or wrong"),
    (403, "foreign_host", "the `Host` of the call is not one of this server's; see [access](control-api.md#access)"),
    (403, "foreign_origin", "the call comes from a page of another origin"),
    (404, "not_found", "there is no such call, sandbox, object, event, delivery, fault or scenario"),
    (404, "not_installed", "the extra that the call needs is not installed"),
    (405, "wrong_method", "the call exists with another method; `Allow` lists them"),
    (409, "illegal_transition", "the object's status does not allow this transition; `force: true` makes it anyway"),
    (409, "no_run", "there is no run file, since the beginning of what happened in the sandbox is no longer kept"),
    (409, "validation_error", "a business rule forbids it, such as a dispute about more than was paid"),
    (
        410,
        "reaped",
        "nobody used the sandbox for its `ttl`, so it was deleted; the message says when, and what its `ttl` was",
    ),
    (429, "too_many_sandboxes", "the server has as many sandboxes as it may have (`--max-sandboxes`)"),
    (500, "internal", "an error in the double itself; see its log"),
)
# `error.kind` of an attempt without an answer.
_ATTEMPTS: Final = (
    ("refused", "nothing listens at the target"),
    ("timeout", "no answer within `webhooks.timeout`"),
    ("reset", "the connection was closed or reset before an answer, by the receiver or by a fault"),
    ("tls", "no TLS connection: a certificate that is not trusted, or a version before 1.2"),
    ("dns", "the target's name cannot be resolved"),
    ("unreachable", "the target cannot be reached"),
    ("protocol", "the answer is not HTTP"),
    ("policy", "the double does not send to this target; see [limits](../explanation/limits.md)"),
    ("bad_url", "the target is not a URL that can be posted to"),
    ("internal", "an error in the double itself; see its log"),
)


def errors_page() -> str:
    """Return the page."""
    return f"""# Errors

The errors of commands, of control calls, of the API, of webhooks that do not arrive, and of signatures that do not verify. Codes and
kinds stay the same between versions; the sentences may change.

## Exit statuses of commands

| status | meaning |
|---|---|
{_rows((str(int(each)), MEANINGS[each]) for each in ExitStatus)}

A refusal is one line on standard error, with the command, the place, what is wrong and how to fix it:

```text
paydouble serve: Invalid value for '--port' (env var: 'PAYDOUBLE_PORT'): 80800 is not in the range 0<=x<=65535. Try 'paydouble serve --help'.
```

A file of scenarios may have several errors, each with file, line and column, and the line itself:

```text
slow-card.yaml:5:22: error: 'pendin' is not valid here
  5 |     - {{after: 2s, to: pendin}}
    |                       ^^^^^^
    = expected created, pending, processing, succeeded, failed or cancelled
    = did you mean 'pending'?
```

## Refused control calls

`{{"error": {{"code", "message", "member"}}}}`, with `member` where the sentence speaks of one (`settings.webhooks.timeout`). Nothing
was changed by a call that was refused.

| status | code | meaning |
|---|---|---|
{_rows((str(status), f"`{code}`", text) for status, code, text in _CONTROL)}

## Errors of the API

The service's own, in its two envelopes. Envelope A is `{{"error": {{"code", "message", "status", "request_id", "docs", "details"?}}}}`, envelope B
`{{"success": false, "error": {{"code", "message", "details"?}}, "request_id"}}`. Which error wears which is the setting `envelope`; here is
what `by_layer` does. Messages are for people: no client should read them.

| status | code | in envelope A | envelope |
|---|---|---|---|
{_rows((str(status), f"`{code}`", f"`{SNAKE_CODES[code]}`", _envelope(code)) for code, status in STATUS.items())}

## Attempts without an answer

`error.kind` of an [attempt](control-api.md#events-and-deliveries); its `message` says more. An answer that is no 2xx is not an error of this
kind: the attempt has its `status`, and is retried too.

| kind | meaning |
|---|---|
{_rows((f"`{kind}`", text) for kind, text in _ATTEMPTS)}

## Signatures that do not hold

`paydouble.verify` raises one of these; they are `SignatureError`s, and `recommended_status` is what a receiver should answer.

| class | status | meaning |
|---|---|---|
{_rows((f"`{each.__name__}`", str(each.recommended_status), _told(each)) for each in SignatureError.__subclasses__())}

## Causes that `paydouble signature check` finds

It undoes the usual mistakes one by one until the signature fits, and names the one that it had to undo. The first line it prints
ends with the cause.

| cause | what was found |
|---|---|
{_rows((f"`{each.cause}`", each.message) for each in _causes())}
"""


def _causes() -> list[Mistake]:
    computed = (
        Mistake("other-header", "the signature is in another header", ""),
        Mistake("stale", "it was signed longer ago than the tolerance", ""),
        Mistake("future", "it was signed further in the future than the tolerance", ""),
    )
    fixed = (diagnosis.MISSING_HEADER, diagnosis.NAME_INCLUDED, diagnosis.MILLISECONDS, diagnosis.BLANK_SECRET)
    unexplained = tuple(each.mistake for each in diagnosis._UNEXPLAINED)  # noqa: SLF001 - the page tells of all
    known = (*fixed, *HEADER_SHAPES, *HEADER_TRIALS, *computed, *BODY_TRIALS, *SECRET_TRIALS, *unexplained)
    return list({each.cause: each for each in known}.values())


def _rows(rows: Iterable[tuple[str, ...]]) -> str:
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows)


def _envelope(code: str) -> str:
    if code == "NOT_FOUND":
        return "B; A when the endpoint itself is unknown"
    return "A" if code in EDGE_CODES else "B"


def _told(error: type[SignatureError]) -> str:
    return (inspect.getdoc(error) or "").partition(" (4")[0].removesuffix(".") + "."
