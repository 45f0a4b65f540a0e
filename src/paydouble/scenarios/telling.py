"""Words for what the models refuse, for whoever writes a file: what is wrong, and what was expected instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from types import MappingProxyType
from typing import Final

from pydantic import ValidationError

from paydouble.scenarios.base import Place
from paydouble.scenarios.complaints import Complaint
from paydouble.scenarios.findings import listed, nearest
from paydouble.scenarios.outline import keys_at, required_at
from paydouble.scenarios.problems import Problem, problems, value_at

_KINDS: Final = ("to", "dispute", "refund", "when", "repeat")
_OTHER_KINDS: Final = ("to", "when", "repeat")
_YES_AND_NO: Final = {"yes": "true", "on": "true", "no": "false", "off": "false"}
_CAPITALS: Final = {
    "currency": (3, "three capital letters, such as EUR"),
    "country": (2, "two capital letters, such as DE"),
}
MOST_COMPLAINTS: Final = 50
"""About one file; to find the words for more would take longer than anybody reads."""
# What fits into a sentence.
_LONGEST_VALUE: Final = 40
_LONGEST_SENTENCE: Final = 300


def complaints(error: ValidationError, data: object) -> list[Complaint]:
    """Return what is wrong with the data of a file, at most one thing of a value or of a missing key."""
    made: dict[tuple[Place, str], Complaint] = {}
    idle: list[Problem] = []
    for problem in problems(error, data):
        if len(made) == MOST_COMPLAINTS:
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


def _tell(problem: Problem, data: object) -> Complaint:
    # What is wrong with a key depends on what stands beside it.
    if problem.kind == "missing" and isinstance(problem.place[-1], str):
        return _missing(problem.place[:-1], problem.place[-1], data)
    if problem.kind == "extra_forbidden":
        return _unknown(problem.place, data)
    if problem.kind == "step_kind":
        return _kindless(problem, data)
    return _OF_VALUES.get(problem.kind, _unforeseen)(problem)


def _missing(owner: Place, key: str, data: object) -> Complaint:
    meaning = keys_at(owner, data).get(key, "")
    advice = f"{key}: {meaning[:1].lower()}{meaning[1:]}".rstrip(".") if meaning else ""
    return Complaint(owner, f"the key {key!r} is missing", advice=advice, absent=key)


def _unknown(place: Place, data: object) -> Complaint:
    known = keys_at(place[:-1], data)
    free = [key for key in known if key not in value_at(data, place[:-1])]
    key = str(place[-1])
    message = f"the key {named(key)} is not known here"
    return Complaint(place, message, listed(free), nearest(key, known), of_key=True)


def _kindless(problem: Problem, data: object) -> Complaint:
    kinds = _KINDS if "pay-in" in problem.text else _OTHER_KINDS
    if not isinstance(problem.value, dict):
        message = f"expected a step such as {{after: 2s, to: …}}, found {named(problem.value)}"
        return Complaint(problem.place, message)
    known = keys_at(problem.place, data)
    for key in problem.value:
        near = nearest(key, kinds)
        if key not in known and near:
            message = f"the key {key!r} is not known here"
            return Complaint((*problem.place, key), message, listed(kinds), near, of_key=True)
    return Complaint(problem.place, problem.text)


def _no_choice(problem: Problem) -> Complaint:
    if "answers" in problem.place:
        return _no_answer(problem)
    names = [name.strip("'") for name in re.findall(r"'[^']*'|[0-9]+", str(problem.limits["expected"]))]
    value = problem.value
    return Complaint(problem.place, f"{named(value)} cannot stand here", listed(names), nearest(value, names))


def _no_whole(problem: Problem) -> Complaint:
    if "answers" in problem.place:
        return _no_answer(problem)
    return Complaint(problem.place, f"expected a whole number, found {named(problem.value)}")


def _no_answer(problem: Problem) -> Complaint:
    message, expected = f"{named(problem.value)} is not an answer", "a status such as 200, or lost for no answer"
    return Complaint(problem.place, message, expected, nearest(problem.value, ["lost"]))


def _no_flag(problem: Problem) -> Complaint:
    value = problem.value
    meant = _YES_AND_NO.get(value.lower(), nearest(value, ["true", "false"])) if isinstance(value, str) else ""
    return Complaint(problem.place, f"expected true or false, found {named(value)}", meant=meant)


def _no_text(problem: Problem) -> Complaint:
    value = problem.value
    advice = f"in quotes it is one: '{_digits(value)}'" if isinstance(value, int | Decimal) else ""
    if isinstance(value, list) and problem.choice:
        advice = "for one of several write {one_of: […]}"
    return Complaint(problem.place, f"expected a text, found {named(value)}", advice=advice)


def _no_mapping(problem: Problem) -> Complaint:
    needed = required_at(problem.place, data={})
    keys = f" with {' and '.join(needed)}" if needed else ""
    return Complaint(problem.place, f"expected a mapping{keys}, found {named(problem.value)}")


def _no_list(problem: Problem) -> Complaint:
    message = f"expected a list, found {named(problem.value)}"
    return Complaint(problem.place, message, advice="begin each item with '- '")


def _no_fit(problem: Problem) -> Complaint:
    key, value = str(problem.place[-1]), problem.value
    message = f"{named(value)} cannot stand here"
    if key == "name":
        meant = re.sub(r"[^a-z0-9]+", "-", value.lower()).strip("-")
        return Complaint(problem.place, message, "small letters and digits, with single hyphens between", meant)
    length, expected = _CAPITALS[key]
    return Complaint(problem.place, message, expected, value.upper() if len(value) == length else "")


def _too_short(problem: Problem) -> Complaint:
    # What is missing by number is the end of a pair.
    least = problem.limits.get("min_length", 2)
    return Complaint(problem.place, "there is too little in here", f"at least {_counted(least, problem.value)}")


def _too_long(problem: Problem) -> Complaint:
    most = problem.limits["max_length"]
    return Complaint(problem.place, "there is too much in here", f"at most {_counted(most, problem.value)}")


def _counted(number: int, value: object) -> str:
    unit = "character" if isinstance(value, str) else "item"
    return f"{number} {unit}{'' if number == 1 else 's'}"


def _too_little(problem: Problem) -> Complaint:
    limits = problem.limits
    least = f"at least {limits['ge']}" if "ge" in limits else f"more than {limits['gt']}"
    return Complaint(problem.place, f"{named(problem.value)} is too little", least)


def _too_much(problem: Problem) -> Complaint:
    limits = problem.limits
    most = f"at most {limits['le']}" if "le" in limits else f"less than {limits['lt']}"
    return Complaint(problem.place, f"{named(problem.value)} is too much", most)


def _refused(problem: Problem) -> Complaint:
    """Return what a validator of ours says; what it lists is told apart, so that the nearest can be found."""
    place, value = problem.place, problem.value
    # A list or a mapping is no part of a sentence.
    text = problem.text.replace(str(value), named(value)) if isinstance(value, list | dict) else problem.text
    text = text if len(text) <= _LONGEST_SENTENCE else text.replace(repr(value), named(value))
    message, _, advice = re.sub(r"; on \w+ there are: ", "; there are: ", text).partition("; ")
    if message.startswith("is a "):
        return Complaint(place, f"expected {message.removeprefix('is ')}, found {named(value)}", advice=advice)
    if message == "is missing":
        message = f"the key {'.'.join(map(str, place[-2:]))!r} is missing"
    # A sentence without a subject is about the value.
    if message.partition(" ")[0] in {"is", "has", "asks", "matches"}:
        message = f"this {message}"
    if advice.startswith("there are: "):
        every = advice.removeprefix("there are: ").split(", ")
        return Complaint(place, message, listed(every), nearest(value, every))
    guess = re.search(r" \(did you mean '([^']*)'\?\)", message)
    meant = guess[1] if guess else ""
    return Complaint(place, message.replace(guess[0], "") if guess else message, meant=meant, advice=advice)


def _unforeseen(problem: Problem) -> Complaint:
    return Complaint(problem.place, problem.text[:1].lower() + problem.text[1:])


_OF_VALUES: Final = MappingProxyType[str, Callable[[Problem], Complaint]](
    {
        "bool_type": _no_flag,
        "dict_type": _no_mapping,
        "greater_than": _too_little,
        "greater_than_equal": _too_little,
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
