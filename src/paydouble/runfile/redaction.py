"""A run without personal data, which is still a run: it can be replayed, and gives the same bytes each time.

Values are replaced in what came from outside: bodies, targets, headers and addresses of requests, deposits and texts of
control commands, and the answers of receivers. Then the changed commands are applied to a fresh sandbox, whose
recording is the redacted run. So nothing that the service has repeated from a request can be left over, and each answer
and each signature fits.

**What is replaced** follows from the type of a member. The request models mark types with `Personal`; a value of such
a type is replaced, and so is each value of a member that no model knows. A value of another known type stays, except
e-mail addresses, numbers of payment cards and IP addresses in it. A request that is not JSON, or for no known
operation, has no types, and all its texts are replaced.

**By what** it is replaced: a letter by a letter of the same case, a digit by a digit, and other ASCII characters stay.
So lengths, forms and validity are the same. The same value is replaced by the same text everywhere in the run, and
different values by different texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Any, Final
from urllib.parse import quote, unquote

from pydantic import BaseModel

from paydouble.api.operations import PREFIX, Operation, operations
from paydouble.api.routes import Routes
from paydouble.api.schemas import DepositRequest, Personal
from paydouble.core.seeded_random import SeededRandom
from paydouble.guards.credentials import basic_header
from paydouble.runfile.commands import write
from paydouble.runfile.files import Run
from paydouble.runfile.lines import Line, RunFileError, read_bytes, read_instant, read_text, write_bytes, write_text
from paydouble.runfile.player import Player
from paydouble.sandbox.recording import Remark
from paydouble.sandbox.scenario_selector import SCENARIO_DOMAIN
from paydouble.scenarios.library import shipped_files

Shape = Any
"""What is known of a value: a model, `dict` of a shape for each member, True for a known type, False for unknown."""

_EMAIL: Final = re.compile(r"[^\s@\"'<>(),;:=&?/]+@[^\s@\"'<>(),;:=&?/]+\.[A-Za-z]{2,}")
_CARD: Final = re.compile(r"(?<![0-9A-Za-z_-])(?:[0-9][ -]?){12,18}[0-9](?![0-9A-Za-z_-])")
_ADDRESS: Final = re.compile(
    r"(?<![\w.:])(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7})(?![\w.:])"
)
_UUID: Final = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"?|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)
_NUMBER: Final = re.compile(r"[0-9]+")
_WEB: Final = ("http://", "https://")
_LITERALS: Final = frozenset({"true", "false", "null"})
# Headers whose values say nothing about a person, besides those that are checked below.
_HEADERS: Final = frozenset(
    {
        "accept",
        "accept-encoding",
        "connection",
        "content-length",
        "content-type",
        "host",
        "transfer-encoding",
        "user-agent",
    }
)
_TIMES: Final = frozenset({"do", "at", "wall"})
_TRIES: Final = 50


def redacted(run: Run) -> Run:
    """Return a run without personal data; `RunFileError` when its commands cannot be applied without it."""
    changes = _Changes(run)
    header = changes.header(run.header)
    player = Player(header)
    for number, line in enumerate(run.lines, 2):
        if "note" in line:
            player.sandbox.recording.add(Remark(changes.text(line["note"])))
        elif "do" in line:
            try:
                player.apply(changes.command(line), number)
            except RunFileError as error:
                message = f"the run cannot be played without its personal data ({error}); write it raw"
                raise RunFileError(message) from None
    player.sandbox.clock.jump(read_instant(run.end["at"]))
    player.sandbox.tick()
    lines = [write(entry) for entry in player.sandbox.recording.entries]
    return Run({**header, "redacted": True}, lines, changes.within(run.end))


class Pseudonyms:
    """Replaces texts: the same one always by the same, and different ones by different ones."""

    def __init__(self) -> None:
        """Start without any."""
        self._made: dict[str, str] = {}
        self._used: set[str] = set()
        self._random = SeededRandom(0)

    def of(self, text: str) -> str:
        """Return what replaces a text."""
        made = self._made.get(text)
        if made is None:
            made = self._new(text, len(self._made))
            self._made[text] = made
            self._used.add(made)
        return made

    def _new(self, text: str, number: int) -> str:
        made = text
        for attempt in range(_TRIES):
            # What replaces a text depends on how many came before it, and not on the text.
            values = self._random.block("pseudonym", f"{number}.{attempt}", 0, len(text))
            made = "".join(map(_other, text, values))
            if made != text and made not in self._used:
                break
        return made


def _forks(run: Run) -> Iterator[Line]:
    return (line for line in run.lines if line.get("do") == "sandbox-fork")


def _authorization(made: Line) -> str:
    return basic_header(made["business_key"], made["business_secret"])


def _other(character: str, value: int) -> str:
    if character in ascii_uppercase or (not character.isascii() and character.isupper()):
        return ascii_uppercase[value % 26]
    if character in digits:
        return digits[1 + value % 9]  # no zero: a number does not begin with one
    if character.isascii() and not character.isalpha():
        return character
    return ascii_lowercase[value % 26]


class _Changes:
    """The changes of one run."""

    def __init__(self, run: Run) -> None:
        made = run.header["sandbox"]
        self._names = Pseudonyms()
        self._routes: Routes[Operation] = Routes(operations(made.get("paths", {})), PREFIX)
        self._authorizations = {_authorization(each) for each in (made, *_forks(run))}
        self._networks = [ip_network(each) for each in _networks(run)]
        self._scenarios = {*shipped_files(), *_uploaded(run)}
        self._addresses: dict[str, str] = {}

    def header(self, header: Line) -> Line:
        """Return the header."""
        made = dict(header["sandbox"])
        if "notification_url" in made:
            made["notification_url"] = self.url(made["notification_url"])
        made["scenarios"] = [self.text(each) for each in made.get("scenarios", [])]
        return {**{name: value for name, value in header.items() if name != "sandbox"}, "sandbox": made}

    def command(self, line: Line) -> Line:
        """Return a command."""
        changed = dict(line)
        match line["do"]:
            case "request":
                return self._request(line)
            case "attempt":
                changed["endpoint"] = write_text(self.url(read_text(line["endpoint"])))
            case "outcome":
                changed = {name: each for name, each in line.items() if name not in {"headers", "body"}}
                if "error" in line:
                    changed["error"] = self.within(line["error"])
            case "webhook-change" if line["notification_url"] is not None:
                changed["notification_url"] = self.url(line["notification_url"])
            case "scenario-play":
                body = json.dumps(line["deposit"], ensure_ascii=False, default=str)
                changed["deposit"] = json.loads(self.body(body, DepositRequest))
            case "refund-open" | "dispute-open" if line["reason"] is not None:
                changed["reason"] = self._names.of(line["reason"])
            case "transition" if line["failure"] is not None:
                failure = line["failure"]
                changed["failure"] = {**failure, "message": self._names.of(failure["message"])}
            case "fault-add" | "fault-change" | "scenario-add" | "pay-in-payer":
                changed = {name: each if name in _TIMES else self.within(each) for name, each in line.items()}
        return changed

    def _request(self, line: Line) -> Line:
        target, method = read_text(line["target"]), line["method"]
        found = self._routes.match("GET" if method == "HEAD" else method, target.partition("?")[0])
        operation = None if found is None else found[0]
        changed = {**line, "target": write_text(self._target(target, operation))}
        changed["headers"] = [[name, self._header(name, value)] for name, value in line.get("headers", [])]
        if "body" in line:
            shape: Shape = operation.payload if operation is not None and operation.payload is not None else False
            data = read_bytes(line["body"])
            text = data.decode("utf-8", "surrogateescape")
            changed["body"] = write_bytes(self.body(text, shape).encode("utf-8", "surrogateescape"))
        if line.get("remote"):
            changed["remote"] = self._address(line["remote"])
        return changed

    # Texts

    def text(self, text: str) -> str:
        """Return a text of a known type: without e-mail addresses, card numbers and IP addresses."""
        if "@" in text:
            text = _EMAIL.sub(lambda found: self._email(found[0]), text)
        text = _CARD.sub(lambda found: self._names.of(found[0]) if _is_card(found[0]) else found[0], text)
        return _ADDRESS.sub(lambda found: self._address(found[0]), text)

    def within(self, value: Any) -> Any:  # noqa: ANN401 - JSON is any
        """Return a JSON value of known types."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {name: self.within(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self.within(each) for each in value]
        return value

    def url(self, url: str) -> str:
        """Return a URL without the values of its query and without credentials."""
        base, mark, query = url.partition("?")
        base = re.sub(r"(?<=://)[^/@]*(?=@)", lambda found: self._names.of(found[0]), base)
        query = re.sub(r"[^&=#]+(?=&|#|$)", lambda found: self._names.of(found[0]), query)
        return f"{self.text(base)}{mark}{query}"

    def body(self, text: str, shape: Shape) -> str:
        """Return a JSON text of a shape in which the values have changed and nothing else."""
        return "".join(self._tokens(text, shape))

    def _tokens(self, text: str, shape: Shape) -> Iterator[str]:
        stack: list[tuple[str, Shape]] = []
        name, at, is_name, current = "", 0, False, shape
        for token in _TOKEN.finditer(text):
            yield text[at : token.start()]
            at, found = token.end(), token[0]
            if found in "{[":
                stack.append((found, current))
                is_name = found == "{"
                current = current if found == "{" else _element(current)
            elif found in "}]":
                if stack:
                    stack.pop()
                current, is_name = False, False
            elif found == ":":
                is_name, current = False, _member(stack[-1][1] if stack else False, name)
            elif found == ",":
                is_name = bool(stack) and stack[-1][0] == "{"
                current = _element(stack[-1][1]) if stack and not is_name else current
            elif is_name:
                name = _decoded(found)
                found = self._value(found, known=True)
            else:
                found = self._value(found, known=current is True)
            yield found
        yield text[at:]

    def _value(self, literal: str, *, known: bool) -> str:
        if not literal.startswith('"'):
            if known or literal in _LITERALS:
                return literal
            # Of a number only the digits change, so that it stays one.
            return (
                _NUMBER.sub(lambda found: self._names.of(found[0]), literal)
                if _is_number(literal)
                else self._names.of(literal)
            )
        value = _decoded(literal)
        changed = self._known_text(value) if known else self._whole(value)
        if changed == value:
            return literal
        ending = '"' if literal.endswith('"') and literal != '"' else ""
        body = json.dumps(changed, ensure_ascii=False)[1:-1]
        # An escape stays an escape: another body under the same key may differ by nothing else.
        if "\\u" in literal and body and body[0].isalnum():
            body = f"\\u{ord(body[0]):04x}{body[1:]}"
        return f'"{body}{ending}'

    def _known_text(self, value: str) -> str:
        return self.url(value) if value.startswith(_WEB) else self.text(value)

    def _whole(self, value: str) -> str:
        return self._email(value) if "@" in value else self._names.of(value)

    def _email(self, value: str) -> str:
        # Such an address chooses a scenario by its local part, and the name of a scenario belongs to nobody.
        local = value.removesuffix(SCENARIO_DOMAIN)
        if local == value:
            return self._names.of(value)
        return value if local in self._scenarios else f"{self._names.of(local)}{SCENARIO_DOMAIN}"

    def _target(self, target: str, operation: Operation | None) -> str:
        if operation is None:
            return self._names.of(target)
        path, mark, query = target.partition("?")
        known = {each.name for each in operation.queries}
        parts = []
        for part in query.split("&"):
            name, sign, value = part.partition("=")
            parts.append(f"{name}{sign}{self._quoted(value) if name in known else self._names.of(value)}")
        return f"{self._quoted(path)}{mark}{'&'.join(parts)}"

    def _quoted(self, text: str) -> str:
        plain = unquote(text)
        changed = self.text(plain)
        return text if changed == plain else quote(changed)

    def _header(self, name: str, value: str) -> str:
        match name.lower():
            case "authorization":
                return value if value in self._authorizations else self._names.of(value)
            case "idempotency-key":
                return value if _UUID.fullmatch(value) else self._names.of(value)
            case lower if lower in _HEADERS:
                return self.text(value)
            case _:
                return self._names.of(value)

    def _address(self, value: str) -> str:
        try:
            address = ip_address(value)
        except ValueError:
            return value
        if address.is_loopback or address.is_unspecified:
            return value
        # One that the allow-list of the business lets pass is replaced by one that it lets pass too.
        for network in self._networks:
            if address in network:
                return str(network.network_address)
        number = len(self._addresses)
        made = f"192.0.2.{number % 256}" if address.version == 4 else f"2001:db8::{number:x}"  # noqa: PLR2004 - IPv4
        return self._addresses.setdefault(value, made)


def _element(shape: Shape) -> Shape:
    return shape is True


def _member(shape: Shape, name: str) -> Shape:
    """Return what is known of a member: another shape, True for a type that says nothing about a person."""
    if isinstance(shape, type) and issubclass(shape, BaseModel):
        field = shape.model_fields.get(name)
        return False if field is None else _known(field.annotation, field.metadata)
    return shape is True


def _known(annotation: Any, metadata: Any = ()) -> Shape:  # noqa: ANN401 - a type
    found = [*metadata, *getattr(annotation, "__metadata__", ())]
    if any(isinstance(each, Personal) for each in found):
        return False
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = getattr(annotation, "__args__", ())
    if getattr(annotation, "__origin__", None) is dict:
        return False
    return next((each for each in map(_known, inner) if each is not True), True)


def _is_number(literal: str) -> bool:
    try:
        return isinstance(json.loads(literal), int | float)
    except ValueError:
        return False


def _decoded(literal: str) -> str:
    try:
        value = json.loads(literal)
    except ValueError:
        return literal.strip('"')
    return value if isinstance(value, str) else literal


def _is_card(text: str) -> bool:
    """Return whether digits have the check digit of a payment card (Luhn)."""
    numbers = [int(each) for each in text if each in digits]
    doubled = [each * 2 - 9 * (each > 4) if place % 2 else each for place, each in enumerate(reversed(numbers))]  # noqa: PLR2004 - 2 * 5 has two digits
    return sum(doubled) % 10 == 0


def _networks(run: Run) -> Iterator[str]:
    settings = [run.header["sandbox"].get("settings", {})]
    settings += [line["settings"] for line in run.lines if line.get("do") == "sandbox-change"]
    for each in settings:
        yield from each.get("allowed_addresses") or ()


def _uploaded(run: Run) -> Iterator[str]:
    texts = [
        *run.header["sandbox"].get("scenarios", []),
        *(line["scenario"] for line in run.lines if line.get("do") == "scenario-add"),
    ]
    for text in texts:
        found = re.search(r"^name: *\"?([A-Za-z0-9_-]+)", text, re.MULTILINE)
        if found is not None:
            yield found[1]
