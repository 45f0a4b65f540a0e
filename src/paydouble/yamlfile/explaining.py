"""From pydantic's errors to diagnostics: what is wrong with a file, and what was expected instead.

pydantic's paths contain tags and the members of unions, which are not in the file, and a part with its own parser
(settings, faults) reports a list of errors under one path. `model_errors` turns both into places in the file. The rest
of the module writes the sentence for each kind of error. What is special to a kind of file is in its `FileKind`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from paydouble.core.likeness import nearest
from paydouble.core.refusals import FITTING, sentence
from paydouble.yamlfile.diagnostics import Diagnostic, listed
from paydouble.yamlfile.outline import Outline, value_at
from paydouble.yamlfile.places import Place, PlacedErrors

M = TypeVar("M", bound=BaseModel)
_YES_AND_NO: Final = {"yes": "true", "on": "true", "no": "false", "off": "false"}
_CAPITALS: Final = {
    "currency": (3, "three capital letters, such as EUR"),
    "country": (2, "two capital letters, such as DE"),
}
MOST_DIAGNOSTICS: Final = 50
"""The most diagnostics of one file; nobody reads more, and they take long to write."""
# Longer values and sentences are cut off.
_LONGEST_VALUE: Final = 40
_LONGEST_SENTENCE: Final = 300


@dataclass(frozen=True, slots=True)
class ModelError:
    """One error of a model, or of a part with its own parser, at its place in the file."""

    place: Place
    kind: str
    """pydantic's error type."""
    text: str
    limits: Mapping[str, Any]
    """pydantic's error context: `min_length`, `ge`, `expected`."""
    value: Any
    choice: str = ""
    """The member of a union that reported it; empty outside of unions."""

    @property
    def is_consequence(self) -> bool:
        """Return whether another error is the likely cause of this one."""
        if self.kind == "too_short":
            return bool(len(self.value) >= self.limits["min_length"])  # pydantic counts only the valid items
        # For a mapping, a union reports that it is not a scalar, and also what is wrong with the mapping itself.
        return bool(self.choice) and isinstance(self.value, dict) and not re.search("[A-Z]", self.choice)


def _nothing_special(_: ModelError, __: object) -> None:
    """Leave every error to the usual sentences."""


def _no_tag(_: Place, __: int) -> bool:
    """Return False: there are no tags."""
    return False


@dataclass(frozen=True, slots=True)
class FileKind(Generic[M]):
    """A kind of file: what it is called, what it holds, and which of its errors have sentences of their own."""

    noun: str
    beginning: str
    """How such a file begins, for the message about an empty one."""
    model: type[M]
    outline: Outline
    special: Callable[[ModelError, object], Diagnostic | None] = _nothing_special
    """Returns the diagnostic of an error in the data of a file, or None for the usual one."""
    is_tag: Callable[[Place, int], bool] = _no_tag
    """Returns whether a part of pydantic's path, by its index, is a tag that is not in the file."""


def model_errors(error: ValidationError, data: object, kind: FileKind[Any]) -> Iterator[ModelError]:
    """Yield pydantic's errors about some data, each at its place in the data."""
    for each in error.errors(include_url=False):
        place, choice = _place(each["loc"], data, kind)
        limits = each.get("ctx", {})
        cause = limits.get("error")
        if isinstance(cause, PlacedErrors):
            for inner in cause.errors:
                within = (*place, *inner.place)
                yield ModelError(within, inner.kind, inner.text, inner.limits, value_at(data, within))
        else:
            value = value_at(data, place)
            text = sentence(each["type"], value, limits, each["msg"])
            yield ModelError(place, each["type"], text, limits, value, choice)


def diagnostics_of(error: ValidationError, data: object, kind: FileKind[Any]) -> list[Diagnostic]:
    """Return what is wrong with the data of a file: at most one diagnostic for each value or missing key."""
    made: dict[tuple[Place, str], Diagnostic] = {}
    consequences: list[ModelError] = []
    for each in model_errors(error, data, kind):
        if len(made) == MOST_DIAGNOSTICS:
            break
        if each.is_consequence:
            consequences.append(each)
        else:
            diagnostic = _explain(each, data, kind)
            made.setdefault((diagnostic.place, diagnostic.absent), diagnostic)
    for each in consequences:
        # Its cause was not reported, so it is reported itself: no member of the union takes a mapping.
        if not any(place[: len(each.place)] == each.place for place, _ in made):
            diagnostic = _explain(each, data, kind)
            made[diagnostic.place, diagnostic.absent] = diagnostic
    # A misspelt key is not reported as missing too.
    misspelt = {(each.place[:-1], each.meant) for each in made.values() if each.of_key}
    return [each for each in made.values() if (each.place, each.absent) not in misspelt]


def _place(location: Place, data: object, kind: FileKind[Any]) -> tuple[Place, str]:
    """Convert pydantic's path to a place in the data, and return the union member on that path beside it."""
    place: Place = ()
    choice = ""
    for number, part in enumerate(location):
        if kind.is_tag(location, number):
            continue
        here = value_at(data, place)
        is_member = part in here if isinstance(here, dict) else isinstance(part, int)
        is_missing = number == len(location) - 1 and isinstance(here, dict) and re.fullmatch(r"[a-z_]+", str(part))
        if is_member or is_missing:
            place = (*place, part)
        else:
            choice = str(part)
    return place, choice


def named(value: object) -> str:
    """Return a short description of a value, in the terms of a file and not of Python."""
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case int() | Decimal():
            return f"the number {_digits(value)}"
        case str():
            return repr(value if len(value) <= _LONGEST_VALUE else f"{value[:_LONGEST_VALUE]}…")
        case list():
            return "a list"
        case _:
            return "a mapping"


def _digits(value: object) -> str:
    return str(getattr(value, "lexeme", value))[:_LONGEST_VALUE]


def _explain(found: ModelError, data: object, kind: FileKind[Any]) -> Diagnostic:
    special = kind.special(found, data)
    if special is not None:
        return special
    # These three need what the file can hold.
    if found.kind == "missing" and isinstance(found.place[-1], str):
        return _missing(found.place[:-1], found.place[-1], data, kind.outline)
    if found.kind == "extra_forbidden":
        return _unknown(found.place, data, kind.outline)
    if found.kind in {"dict_type", "model_type"}:
        return _no_mapping(found, kind.outline)
    return _OF_VALUES.get(found.kind, _refused)(found)


def _missing(owner: Place, key: str, data: object, outline: Outline) -> Diagnostic:
    meaning = outline.keys_at(owner, data).get(key, "")
    advice = f"{key}: {meaning[:1].lower()}{meaning[1:]}".rstrip(".") if meaning else ""
    return Diagnostic(owner, f"the key {key!r} is missing", advice=advice, absent=key)


def _unknown(place: Place, data: object, outline: Outline) -> Diagnostic:
    known = outline.keys_at(place[:-1], data)
    free = [key for key in known if key not in value_at(data, place[:-1])]
    key = str(place[-1])
    message = f"the key {named(key)} is not known here"
    return Diagnostic(place, message, listed(free), nearest(key, known), of_key=True)


def _no_choice(found: ModelError) -> Diagnostic:
    names = [name.strip("'") for name in re.findall(r"'[^']*'|[0-9]+", str(found.limits["expected"]))]
    value = found.value
    return Diagnostic(found.place, f"{named(value)} is not valid here", listed(names), nearest(value, names))


def _no_whole(found: ModelError) -> Diagnostic:
    return Diagnostic(found.place, f"expected a whole number, found {named(found.value)}")


def _no_flag(found: ModelError) -> Diagnostic:
    value = found.value
    meant = _YES_AND_NO.get(value.lower(), nearest(value, ["true", "false"])) if isinstance(value, str) else ""
    return Diagnostic(found.place, f"expected true or false, found {named(value)}", meant=meant)


def _no_text(found: ModelError) -> Diagnostic:
    value = found.value
    advice = f"in quotes it is one: '{_digits(value)}'" if isinstance(value, int | Decimal) else ""
    return Diagnostic(found.place, f"expected a text, found {named(value)}", advice=advice)


def _no_mapping(found: ModelError, outline: Outline) -> Diagnostic:
    needed = outline.required_at(found.place, data={})
    keys = f" with {' and '.join(needed)}" if needed else ""
    return Diagnostic(found.place, f"expected a mapping{keys}, found {named(found.value)}")


def _no_list(found: ModelError) -> Diagnostic:
    message = f"expected a list, found {named(found.value)}"
    return Diagnostic(found.place, message, advice="begin each item with '- '")


def _no_fit(found: ModelError) -> Diagnostic:
    key, value = str(found.place[-1]), found.value
    message = f"{named(value)} is not valid here"
    if key == "name":
        meant = re.sub(r"[^a-z0-9]+", "-", value.lower()).strip("-")
        return Diagnostic(found.place, message, "small letters and digits, with single hyphens between", meant)
    if key in _CAPITALS:
        length, expected = _CAPITALS[key]
        return Diagnostic(found.place, message, expected, value.upper() if len(value) == length else "")
    return Diagnostic(found.place, message, FITTING[found.limits["pattern"]])


def _too_short(found: ModelError) -> Diagnostic:
    # An error without `min_length` is about the missing second item of a pair.
    least = found.limits.get("min_length", 2)
    return Diagnostic(found.place, "this is too short", f"at least {_counted(least, found.value)}")


def _too_long(found: ModelError) -> Diagnostic:
    most = found.limits["max_length"]
    return Diagnostic(found.place, "this is too long", f"at most {_counted(most, found.value)}")


def _counted(number: int, value: object) -> str:
    unit = "character" if isinstance(value, str) else "item"
    return f"{number} {unit}{'' if number == 1 else 's'}"


def _below_limit(found: ModelError) -> Diagnostic:
    limits = found.limits
    least = f"at least {limits['ge']}" if "ge" in limits else f"more than {limits['gt']}"
    return Diagnostic(found.place, f"{named(found.value)} is too small", least)


def _above_limit(found: ModelError) -> Diagnostic:
    limits = found.limits
    most = f"at most {limits['le']}" if "le" in limits else f"less than {limits['lt']}"
    return Diagnostic(found.place, f"{named(found.value)} is too large", most)


def _refused(found: ModelError) -> Diagnostic:
    """Turn a message of our own validators into a diagnostic; valid names that it lists become `expected`."""
    place, value = found.place, found.value
    # A list or a mapping is too long to be quoted in a sentence.
    text = found.text.replace(str(value), named(value)) if isinstance(value, list | dict) else found.text
    text = text if len(text) <= _LONGEST_SENTENCE else text.replace(repr(value), named(value))
    message, _, advice = re.sub(r"; on \w+ there are: ", "; there are: ", text).partition("; ")
    if message.startswith("is a "):
        return Diagnostic(place, f"expected {message.removeprefix('is ')}, found {named(value)}", advice=advice)
    if message == "is missing":
        message = f"the key {'.'.join(map(str, place[-2:]))!r} is missing"
    # A message without a subject is about the value.
    if message.partition(" ")[0] in {"is", "has", "matches"}:
        message = f"this {message}"
    if advice.startswith("there are: "):
        every = advice.removeprefix("there are: ").split(", ")
        return Diagnostic(place, message, listed(every), nearest(value, every))
    guess = re.search(r" \(did you mean '([^']*)'\?\)", message)
    meant = guess[1] if guess else ""
    return Diagnostic(place, message.replace(guess[0], "") if guess else message, meant=meant, advice=advice)


_OF_VALUES: Final = MappingProxyType[str, Callable[[ModelError], Diagnostic]](
    {
        "bool_parsing": _no_flag,
        "bool_type": _no_flag,
        "greater_than": _below_limit,
        "greater_than_equal": _below_limit,
        "int_from_float": _no_whole,
        "int_parsing": _no_whole,
        "int_type": _no_whole,
        "less_than": _above_limit,
        "less_than_equal": _above_limit,
        "list_type": _no_list,
        "literal_error": _no_choice,
        "missing": _too_short,
        "string_pattern_mismatch": _no_fit,
        "string_too_long": _too_long,
        "string_too_short": _too_short,
        "string_type": _no_text,
        "too_long": _too_long,
        "too_short": _too_short,
        "tuple_type": _no_list,
        "value_error": _refused,
    }
)
