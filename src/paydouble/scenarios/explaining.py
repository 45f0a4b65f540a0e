"""Words for what the models refuse, for whoever writes a file: what is wrong, and what was expected instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from types import MappingProxyType
from typing import Final

from pydantic import ValidationError

from paydouble.core.likeness import nearest
from paydouble.scenarios.base import Place
from paydouble.scenarios.diagnostics import Diagnostic, listed
from paydouble.scenarios.model_errors import ModelError, model_errors, value_at
from paydouble.scenarios.outline import keys_at, required_at
from paydouble.scenarios.steps import OTHER_KEYS, PAY_IN_KEYS

_YES_AND_NO: Final = {"yes": "true", "on": "true", "no": "false", "off": "false"}
_CAPITALS: Final = {
    "currency": (3, "three capital letters, such as EUR"),
    "country": (2, "two capital letters, such as DE"),
}
MOST_DIAGNOSTICS: Final = 50
"""About one file; to find the words for more would take longer than anybody reads."""
# What fits into a sentence.
_LONGEST_VALUE: Final = 40
_LONGEST_SENTENCE: Final = 300


def diagnostics_of(error: ValidationError, data: object) -> list[Diagnostic]:
    """Return what is wrong with the data of a file, at most one thing of a value or of a missing key."""
    made: dict[tuple[Place, str], Diagnostic] = {}
    idle: list[ModelError] = []
    for problem in model_errors(error, data):
        if len(made) == MOST_DIAGNOSTICS:
            break
        if problem.is_idle:
            idle.append(problem)
        else:
            told = _tell(problem, data)
            made.setdefault((told.place, told.absent), told)
    for problem in idle:
        # What it was taken to follow from is not there: no member of the union takes a mapping at all.
        if not any(place[: len(problem.place)] == problem.place for place, _ in made):
            told = _tell(problem, data)
            made[told.place, told.absent] = told
    # Who has misspelt a key need not be told that it is missing, too.
    misspelt = {(each.place[:-1], each.meant) for each in made.values() if each.of_key}
    return [each for each in made.values() if (each.place, each.absent) not in misspelt]


def named(value: object) -> str:
    """Return a value as a sentence about a file names it."""
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


def _tell(problem: ModelError, data: object) -> Diagnostic:
    # What is wrong with a key depends on what stands beside it.
    if problem.kind == "missing" and isinstance(problem.place[-1], str):
        return _missing(problem.place[:-1], problem.place[-1], data)
    if problem.kind == "extra_forbidden":
        return _unknown(problem.place, data)
    if problem.kind == "step_kind":
        return _kindless(problem, data)
    return _OF_VALUES.get(problem.kind, _refused)(problem)


def _missing(owner: Place, key: str, data: object) -> Diagnostic:
    meaning = keys_at(owner, data).get(key, "")
    advice = f"{key}: {meaning[:1].lower()}{meaning[1:]}".rstrip(".") if meaning else ""
    return Diagnostic(owner, f"the key {key!r} is missing", advice=advice, absent=key)


def _unknown(place: Place, data: object) -> Diagnostic:
    known = keys_at(place[:-1], data)
    free = [key for key in known if key not in value_at(data, place[:-1])]
    key = str(place[-1])
    message = f"the key {named(key)} is not known here"
    return Diagnostic(place, message, listed(free), nearest(key, known), of_key=True)


def _kindless(problem: ModelError, data: object) -> Diagnostic:
    kinds = PAY_IN_KEYS if "pay-in" in problem.text else OTHER_KEYS
    if not isinstance(problem.value, dict):
        message = f"expected a step such as {{after: 2s, to: …}}, found {named(problem.value)}"
        return Diagnostic(problem.place, message)
    known = keys_at(problem.place, data)
    for key in problem.value:
        near = nearest(key, kinds)
        if key not in known and near:
            message = f"the key {key!r} is not known here"
            return Diagnostic((*problem.place, key), message, listed(kinds), near, of_key=True)
    return Diagnostic(problem.place, problem.text)


def _no_choice(problem: ModelError) -> Diagnostic:
    if "answers" in problem.place:
        return _no_answer(problem)
    names = [name.strip("'") for name in re.findall(r"'[^']*'|[0-9]+", str(problem.limits["expected"]))]
    value = problem.value
    return Diagnostic(problem.place, f"{named(value)} cannot stand here", listed(names), nearest(value, names))


def _no_whole(problem: ModelError) -> Diagnostic:
    if "answers" in problem.place:
        return _no_answer(problem)
    return Diagnostic(problem.place, f"expected a whole number, found {named(problem.value)}")


def _no_answer(problem: ModelError) -> Diagnostic:
    message, expected = f"{named(problem.value)} is not an answer", "a status such as 200, or lost for no answer"
    return Diagnostic(problem.place, message, expected, nearest(problem.value, ["lost"]))


def _no_flag(problem: ModelError) -> Diagnostic:
    value = problem.value
    meant = _YES_AND_NO.get(value.lower(), nearest(value, ["true", "false"])) if isinstance(value, str) else ""
    return Diagnostic(problem.place, f"expected true or false, found {named(value)}", meant=meant)


def _no_text(problem: ModelError) -> Diagnostic:
    value = problem.value
    advice = f"in quotes it is one: '{_digits(value)}'" if isinstance(value, int | Decimal) else ""
    if isinstance(value, list) and problem.choice:
        advice = "for one of several write {one_of: […]}"
    return Diagnostic(problem.place, f"expected a text, found {named(value)}", advice=advice)


def _no_mapping(problem: ModelError) -> Diagnostic:
    needed = required_at(problem.place, data={})
    keys = f" with {' and '.join(needed)}" if needed else ""
    return Diagnostic(problem.place, f"expected a mapping{keys}, found {named(problem.value)}")


def _no_list(problem: ModelError) -> Diagnostic:
    message = f"expected a list, found {named(problem.value)}"
    return Diagnostic(problem.place, message, advice="begin each item with '- '")


def _no_fit(problem: ModelError) -> Diagnostic:
    key, value = str(problem.place[-1]), problem.value
    message = f"{named(value)} cannot stand here"
    if key == "name":
        meant = re.sub(r"[^a-z0-9]+", "-", value.lower()).strip("-")
        return Diagnostic(problem.place, message, "small letters and digits, with single hyphens between", meant)
    length, expected = _CAPITALS[key]
    return Diagnostic(problem.place, message, expected, value.upper() if len(value) == length else "")


def _too_short(problem: ModelError) -> Diagnostic:
    # What is missing by number is the end of a pair.
    least = problem.limits.get("min_length", 2)
    return Diagnostic(problem.place, "there is too little in here", f"at least {_counted(least, problem.value)}")


def _too_long(problem: ModelError) -> Diagnostic:
    most = problem.limits["max_length"]
    return Diagnostic(problem.place, "there is too much in here", f"at most {_counted(most, problem.value)}")


def _counted(number: int, value: object) -> str:
    unit = "character" if isinstance(value, str) else "item"
    return f"{number} {unit}{'' if number == 1 else 's'}"


def _too_little(problem: ModelError) -> Diagnostic:
    limits = problem.limits
    least = f"at least {limits['ge']}" if "ge" in limits else f"more than {limits['gt']}"
    return Diagnostic(problem.place, f"{named(problem.value)} is too little", least)


def _too_much(problem: ModelError) -> Diagnostic:
    limits = problem.limits
    most = f"at most {limits['le']}" if "le" in limits else f"less than {limits['lt']}"
    return Diagnostic(problem.place, f"{named(problem.value)} is too much", most)


def _refused(problem: ModelError) -> Diagnostic:
    """Return what a validator of ours says; what it lists is told apart, so that the nearest can be found."""
    place, value = problem.place, problem.value
    # A list or a mapping is no part of a sentence.
    text = problem.text.replace(str(value), named(value)) if isinstance(value, list | dict) else problem.text
    text = text if len(text) <= _LONGEST_SENTENCE else text.replace(repr(value), named(value))
    message, _, advice = re.sub(r"; on \w+ there are: ", "; there are: ", text).partition("; ")
    if message.startswith("is a "):
        return Diagnostic(place, f"expected {message.removeprefix('is ')}, found {named(value)}", advice=advice)
    if message == "is missing":
        message = f"the key {'.'.join(map(str, place[-2:]))!r} is missing"
    # A sentence without a subject is about the value.
    if message.partition(" ")[0] in {"is", "has", "asks", "matches"}:
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
        "dict_type": _no_mapping,
        "greater_than": _too_little,
        "greater_than_equal": _too_little,
        "int_from_float": _no_whole,
        "int_parsing": _no_whole,
        "int_type": _no_whole,
        "less_than": _too_much,
        "less_than_equal": _too_much,
        "list_type": _no_list,
        "literal_error": _no_choice,
        "missing": _too_short,
        "model_type": _no_mapping,
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
