"""The text of a YAML file as plain data, with the place of each key and value.

PyYAML parses; here is decided what a plain word means (the core schema of YAML 1.2, so that `on` and `NO` are texts and
`12:30:00` is no number), and what is refused because it would hurt a person or a process: two keys of one name, anchors
and aliases, tags, nesting that no scenario needs. Numbers with a fraction keep their digits.

What leaves a tree to go on with is noted and the rest is read; what leaves none ends the reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from paydouble.core.json_text import JsonTextError, Number
from paydouble.scenarios.diagnostics import Diagnostic, Span, of_text

LARGEST_TEXT: Final = 2**20
"""Bytes of a YAML text."""
DEEPEST: Final = 50
"""Levels of a YAML text; a scenario has ten, and whoever builds a tree must not run out of stack."""
MOST_NODES: Final = 20_000
"""Values of a YAML text; a scenario of a thousand steps has half as many. More would only take time."""

# YAML 1.2, 10.3.2 (tag resolution).
_CONSTANTS: Final = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER: Final = re.compile(r"(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)\Z")
_FRACTION: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
PLAIN_WORDS: Final = (("int", _INTEGER), ("float", _FRACTION))
"""What a word without quotes can be besides a text or a constant: the kind, as YAML calls it, and how it is written."""
_ENDLESS: Final = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_PADDED: Final = re.compile(r"[-+]?0[0-9]")
_JSON_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
# No amount and no count is longer; written out, a larger exponent could fill any memory.
_LONGEST_NUMBER: Final = 40


@dataclass(slots=True)
class Node:
    """A value and its place; a mapping has its members below it, a list its items."""

    value: Any
    span: Span
    key: Span | None = None
    """Where the key stands, if it is a member."""
    below: dict[str | int, Node] = field(default_factory=dict)
    is_block: bool = False
    """Whether it is a mapping or a list that goes on line by line."""

    def find(self, place: tuple[str | int, ...]) -> Node:
        """Return the node at a place, or the deepest that there is on the way."""
        node = self
        for part in place:
            if part not in node.below:
                break
            node = node.below[part]
        return node

    @property
    def shown(self) -> Span:
        """Return what to mark when the value is meant: its key, where it has no text of its own on one line."""
        return self.key if self.key is not None and (self.is_block or not self.span.length) else self.span


class _Unreadable(Exception):
    def __init__(self, found: Diagnostic) -> None:
        self.found = found


def read_tree(text: str) -> tuple[Node | None, list[Diagnostic]]:
    """Return the tree of a YAML text, if it has one, and what is wrong with it as YAML."""
    import yaml  # noqa: PLC0415 - a server that creates no deposit yet starts without it

    from paydouble.scenarios.yaml_errors import translated  # noqa: PLC0415 - most texts are YAML

    builder = _Builder(yaml)
    try:
        return builder.document(
            yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        ), builder.findings
    except _Unreadable as unreadable:
        return None, [*builder.findings, unreadable.found]
    except yaml.MarkedYAMLError as error:
        return None, [*builder.findings, translated(error, text)]


class _Builder:
    """Takes the parser's events, one after the other."""

    def __init__(self, yaml: Any) -> None:  # noqa: ANN401 - the module
        self._yaml = yaml
        self.findings: list[Diagnostic] = []
        self._depth = self._nodes = 0

    def document(self, events: Iterator[Any]) -> Node:
        yaml = self._yaml
        root: Node | None = None
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                if root is not None:
                    raise _Unreadable(
                        of_text(_span(event), "a second document begins here", advice="one file holds one scenario")
                    )
                root = self._node(next(events), events)
        if root is None:
            raise _Unreadable(
                of_text(
                    Span(0, 0, 0),
                    "there is nothing in here",
                    advice="a scenario begins with 'name: my-scenario' and 'summary: What happens.'",
                )
            )
        return root

    def _node(self, event: Any, events: Iterator[Any]) -> Node:  # noqa: ANN401 - PyYAML's events
        yaml = self._yaml
        span = _span(event)
        self._nodes += 1
        if self._nodes > MOST_NODES:
            raise _Unreadable(
                of_text(span, f"these are more than {MOST_NODES} values", advice="no scenario needs them")
            )
        if isinstance(event, yaml.AliasEvent):
            # A few lines of aliases can stand for more than any memory holds.
            self._note(span, f"the alias *{event.anchor} is not taken", advice="write out what it stands for")
            return Node(None, span)
        if event.anchor is not None:
            self._note(
                span, f"the anchor &{event.anchor} is not taken", advice="leave it out; there are no aliases here"
            )
        if event.tag is not None:
            self._note(span, f"the tag {event.tag} is not taken", advice="leave it out; a text goes into quotes")
        if isinstance(event, yaml.ScalarEvent):
            plain = event.tag is None and event.implicit[0]
            return Node(self._meaning(event.value, span) if plain else event.value, span)
        self._depth += 1
        if self._depth > DEEPEST:
            raise _Unreadable(of_text(span._replace(length=1), f"this is nested more than {DEEPEST} deep"))
        build = self._mapping if isinstance(event, yaml.MappingStartEvent) else self._sequence
        node, end = build(events)
        self._depth -= 1
        if event.flow_style:
            inside = end.end_mark.line == span.line
            node.span = span._replace(length=end.end_mark.column - span.column if inside else 1)
        else:
            # A block has no text of its own; its first key or its first dash stands for it.
            first = next(iter(node.below.values()), None)
            node.is_block = True
            node.span = span._replace(length=first.key.length if first and first.key else 1)
        return node

    def _mapping(self, events: Iterator[Any]) -> tuple[Node, Any]:
        yaml = self._yaml
        node = Node({}, Span(0, 0, 0))
        while not isinstance(event := next(events), yaml.MappingEndEvent):
            key, span = event.value if isinstance(event, yaml.ScalarEvent) else None, _span(event)
            if key is None:
                self._node(event, events)
                self._note(
                    span, "a key is a word, not a list or a mapping", advice="a text with braces goes into quotes"
                )
            value = self._node(next(events), events)
            if key is None:
                continue
            if not key and event.implicit[0]:
                self._note(span, "there is no key in front of the colon", advice="write it as 'key: value'")
            elif key in node.below:
                first = node.below[key].key
                where = f"line {first.line + 1}, column {first.column + 1}" if first else ""
                self._note(span, f"the key {key!r} stands twice in one mapping", advice=f"the other one is at {where}")
            else:
                value.key = span
                node.value[key] = value.value
                node.below[key] = value
        return node, event

    def _sequence(self, events: Iterator[Any]) -> tuple[Node, Any]:
        node = Node([], Span(0, 0, 0))
        while not isinstance(event := next(events), self._yaml.SequenceEndEvent):
            item = self._node(event, events)
            node.below[len(node.value)] = item
            node.value.append(item.value)
        return node, event

    def _meaning(self, word: str, span: Span) -> Any:  # noqa: ANN401 - what a word can mean
        """Return what a word without quotes stands for."""
        if word in _CONSTANTS:
            return _CONSTANTS[word]
        whole = _INTEGER.match(word)
        if not whole and not _FRACTION.match(word):
            if _ENDLESS.fullmatch(word):
                self._note(span, f"{word} is no number that is counted or paid with", advice="a text goes into quotes")
            return word
        if _PADDED.match(word):
            told = word.lstrip("+-0") or "0"
            self._note(
                span,
                f"{word} begins with 0, and readers of YAML disagree about such numbers",
                advice=f"write {told} for the number, or '{word}' for a text",
            )
            return word
        number = _number(word, whole=bool(whole))
        if number is None:
            self._note(span, "this number is out of any range", advice="a text goes into quotes")
            return word
        return number

    def _note(self, span: Span, message: str, *, advice: str = "") -> None:
        self.findings.append(of_text(span, message, advice=advice))


def _number(word: str, *, whole: bool) -> int | Number | None:
    if len(word) > _LONGEST_NUMBER:
        return None
    if whole:
        return int(word, 0)
    try:
        number = Number(word if _JSON_NUMBER.fullmatch(word) else str(Decimal(word)))
    except (JsonTextError, ArithmeticError):
        return None
    return number if abs(number.adjusted()) <= _LONGEST_NUMBER else None


def _span(event: Any) -> Span:  # noqa: ANN401 - PyYAML's events
    start, end = event.start_mark, event.end_mark
    return Span(start.line, start.column, end.column - start.column if end.line == start.line else 1)
