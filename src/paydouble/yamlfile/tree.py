"""The text of a YAML file as plain data, with the place of each key and value.

PyYAML parses the text into events. This module decides what a plain scalar means (YAML 1.2's core schema, so `on` and
`NO` are texts, and `12:30:00` is not a number) and refuses what would mislead a person or exhaust a process: duplicate
keys, anchors and aliases, tags, and deep nesting. Numbers with a fraction keep their digits.

After an error that leaves a usable tree, reading goes on, so that one pass finds all of them. Other errors end it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from paydouble.core.json_text import JsonTextError, Number
from paydouble.yamlfile.diagnostics import Diagnostic, Span, of_text

LARGEST_TEXT: Final = 2**20
"""Bytes of a YAML text."""
DEEPEST: Final = 50
"""Nesting levels of a YAML text; a scenario has ten, and the recursion must not run out of stack."""
MOST_NODES: Final = 20_000
"""Values of a YAML text; a scenario of a thousand steps has half as many."""

# YAML 1.2, 10.3.2 (tag resolution).
_CONSTANTS: Final = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER: Final = re.compile(r"(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)\Z")
_FRACTION: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
PLAIN_WORDS: Final = (("int", _INTEGER), ("float", _FRACTION))
"""What a plain scalar can be besides a text or a constant: the name of its YAML tag, and its pattern."""
_ENDLESS: Final = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_PADDED: Final = re.compile(r"[-+]?0[0-9]")
_JSON_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
# Longer than any amount; a number with a large exponent would take any amount of memory when written out.
_LONGEST_NUMBER: Final = 40


@dataclass(slots=True)
class Node:
    """A value and its place; a mapping's members, or a list's items, are its children."""

    value: Any
    span: Span
    key: Span | None = None
    """The place of its key, if it is a member of a mapping."""
    children: dict[str | int, Node] = field(default_factory=dict)
    is_block: bool = False
    """Whether it is a mapping or a list in block style, without braces or brackets."""

    def find(self, place: tuple[str | int, ...]) -> Node:
        """Return the node at a place, or else the deepest existing node on the way to it."""
        node = self
        for part in place:
            if part not in node.children:
                break
            node = node.children[part]
        return node

    @property
    def shown(self) -> Span:
        """Return the span to mark for an error in the value: its key, if the value has no text on one line."""
        return self.key if self.key is not None and (self.is_block or not self.span.length) else self.span


class _Unreadable(Exception):
    def __init__(self, found: Diagnostic) -> None:
        self.found = found


def read_tree(text: str, noun: str, beginning: str) -> tuple[Node | None, list[Diagnostic]]:
    """Return the tree of a YAML text (None if there is none) and what is wrong with the text.

    `noun` is what a file holds, and `beginning` how one begins; both are for messages.
    """
    import yaml  # noqa: PLC0415 - a server that creates no deposit yet starts without it

    from paydouble.yamlfile.yaml_errors import translated  # noqa: PLC0415 - most texts are YAML

    builder = _Builder(yaml, noun, beginning)
    try:
        return builder.document(
            yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        ), builder.diagnostics
    except _Unreadable as unreadable:
        return None, [*builder.diagnostics, unreadable.found]
    except yaml.MarkedYAMLError as error:
        return None, [*builder.diagnostics, translated(error, text)]


class _Builder:
    """Builds the tree from the parser's events."""

    def __init__(self, yaml: Any, noun: str, beginning: str) -> None:  # noqa: ANN401 - the module
        self._yaml = yaml
        self._noun = noun
        self._beginning = beginning
        self.diagnostics: list[Diagnostic] = []
        self._depth = self._nodes = 0

    def document(self, events: Iterator[Any]) -> Node:
        yaml = self._yaml
        root: Node | None = None
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                if root is not None:
                    raise _Unreadable(
                        of_text(_span(event), "a second document begins here", advice=f"a file has one {self._noun}")
                    )
                root = self._node(next(events), events)
        if root is None:
            raise _Unreadable(
                of_text(
                    Span(0, 0, 0),
                    f"there is no {self._noun} in here",
                    advice=f"a {self._noun} begins with {self._beginning}",
                )
            )
        return root

    def _node(self, event: Any, events: Iterator[Any]) -> Node:  # noqa: ANN401 - PyYAML's events
        yaml = self._yaml
        span = _span(event)
        self._nodes += 1
        if self._nodes > MOST_NODES:
            raise _Unreadable(
                of_text(span, f"there are more than {MOST_NODES} values", advice=f"no {self._noun} needs so many")
            )
        if isinstance(event, yaml.AliasEvent):
            # A few lines of nested aliases can expand to more than fits into memory.
            self._note(span, f"the alias *{event.anchor} is not allowed", advice="write out the value")
            return Node(None, span)
        if event.anchor is not None:
            self._note(
                span, f"the anchor &{event.anchor} is not allowed", advice="remove it; aliases are not allowed either"
            )
        if event.tag is not None:
            self._note(span, f"the tag {event.tag} is not allowed", advice="remove it; put a text in quotes")
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
            # A block has no text of its own; mark its first key or its first dash.
            first = next(iter(node.children.values()), None)
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
                self._note(span, "a key is a word, not a list or a mapping", advice="put a text with braces in quotes")
            value = self._node(next(events), events)
            if key is None:
                continue
            if not key and event.implicit[0]:
                self._note(span, "there is no key before the colon", advice="write it as 'key: value'")
            elif key in node.children:
                first = node.children[key].key
                where = f"line {first.line + 1}, column {first.column + 1}" if first else ""
                self._note(span, f"the key {key!r} is twice in one mapping", advice=f"the other one is at {where}")
            else:
                value.key = span
                node.value[key] = value.value
                node.children[key] = value
        return node, event

    def _sequence(self, events: Iterator[Any]) -> tuple[Node, Any]:
        node = Node([], Span(0, 0, 0))
        while not isinstance(event := next(events), self._yaml.SequenceEndEvent):
            item = self._node(event, events)
            node.children[len(node.value)] = item
            node.value.append(item.value)
        return node, event

    def _meaning(self, word: str, span: Span) -> Any:  # noqa: ANN401 - what a word can mean
        """Return the value of a plain scalar."""
        if word in _CONSTANTS:
            return _CONSTANTS[word]
        whole = _INTEGER.match(word)
        if not whole and not _FRACTION.match(word):
            if _ENDLESS.fullmatch(word):
                self._note(span, f"{word} is not a finite number", advice="put a text in quotes")
            return word
        if _PADDED.match(word):
            plain = word.lstrip("+-0") or "0"
            self._note(
                span,
                f"{word} begins with 0, and YAML parsers disagree about such numbers",
                advice=f"write {plain} for the number, or '{word}' for a text",
            )
            return word
        number = _number(word, whole=bool(whole))
        if number is None:
            self._note(span, "this number is out of range", advice="put a text in quotes")
            return word
        return number

    def _note(self, span: Span, message: str, *, advice: str = "") -> None:
        self.diagnostics.append(of_text(span, message, advice=advice))


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
