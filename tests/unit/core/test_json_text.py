"""Strict JSON: what the standard allows, without what two parsers could read differently."""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from paydouble.core.json_text import DEEPEST, JsonTextError, Number, canonical, check_depth, loads, read

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
# Bytes that are nearly JSON: mostly JSON tokens, so that many are valid.
tokens = st.sampled_from(
    [
        *"{}[]:, \n\t\x0b\ufeff'",
        '"a"',
        '"b"',
        '"\\u0041"',
        '"\x01"',
        "1",
        "-1.0",
        "1e5",
        "01",
        "+1",
        ".5",
        "true",
        "nul",
        "NaN",
        "//",
    ]
)


def without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make the standard library's parser refuse duplicate members."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError
    return members


def refuse(name: str) -> None:
    """Make the standard library's parser refuse NaN and the infinities."""
    raise ValueError(name)


@given(plain)
def test_every_value_is_read(value: Any) -> None:  # noqa: ANN401 - JSON is any
    """JSON of the standard library is read as the same value, with exact numbers."""
    text = json.dumps(value, ensure_ascii=False)

    assert loads(text.encode()) == json.loads(text, parse_float=Decimal, parse_int=Decimal)


@given(st.lists(tokens, max_size=9).map("".join))
def test_acceptance_is_the_standards(text: str) -> None:
    """A text is accepted exactly when the standard library accepts it without duplicates and NaN."""
    try:
        json.loads(text, object_pairs_hook=without_duplicates, parse_constant=refuse)
        expected = True
    except ValueError:
        expected = False

    try:
        loads(text.encode())
        taken = True
    except JsonTextError:
        taken = False

    assert taken == expected


@given(plain, st.randoms(use_true_random=False))
def test_members_in_another_order_have_the_same_canonical_text(value: Any, chance: Any) -> None:  # noqa: ANN401 - JSON
    """Order of members, white space and escapes make no difference."""

    def shuffled(part: Any) -> Any:  # noqa: ANN401 - JSON is any
        if isinstance(part, dict):
            names = list(part)
            chance.shuffle(names)
            return {name: shuffled(part[name]) for name in names}
        return [shuffled(each) for each in part] if isinstance(part, list) else part

    one = json.dumps(value, ensure_ascii=False)
    other = json.dumps(shuffled(value), indent=2)

    assert canonical(loads(one.encode())) == canonical(loads(other.encode()))


@given(plain, plain)
def test_different_values_have_different_canonical_texts(one: Any, other: Any) -> None:  # noqa: ANN401 - JSON is any
    """Two canonical texts are equal only when the values, with their lexemes, are."""
    first, second = json.dumps(one, sort_keys=True), json.dumps(other, sort_keys=True)
    assume(first != second)

    assert canonical(loads(first.encode())) != canonical(loads(second.encode()))


@pytest.mark.parametrize(
    ("one", "other"), [("49.90", "49.9"), ("1", "1.0"), ("1e2", "100"), ("-0", "0"), ("1E2", "1e2")]
)
def test_another_spelling_of_a_number_is_another_text(one: str, other: str) -> None:
    """Number lexemes are kept, so that `49.90` and `49.9` are two bodies for idempotency."""
    assert canonical(loads(one.encode())) == one.encode() != canonical(loads(other.encode()))


def test_a_number_is_exact_and_keeps_its_lexeme() -> None:
    """No binary float is made of a number, however many digits it has."""
    number = loads(b"0.1000000000000000055511151231257827")

    assert isinstance(number, Number)
    assert (number, number.lexeme) == (
        Decimal("0.1000000000000000055511151231257827"),
        "0.1000000000000000055511151231257827",
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"a": 1, "b": 2, "a": 3}', 'the member "a" is twice in one object'),
        (b'[{"x": {"b": 1, "\\u0062": 2}}]', 'the member "b" is twice in one object'),
        (b"NaN", "NaN is not JSON"),
        (b"[-Infinity]", "-Infinity is not JSON"),
        (b'"\xff"', "byte 1 is not UTF-8"),
        (b'"\xed\xa0\x80"', "byte 1 is not UTF-8"),
        ('{"a": 1}'.encode("utf-16"), "byte 0 is not UTF-8"),
        (b"\xef\xbb\xbf{}", "Expecting value at line 1, column 1"),
        (b"", "Expecting value at line 1, column 1"),
        (b'{"a": 1,\n "b": }', "Expecting value at line 2, column 7"),
        (b"{} {}", "Extra data at line 1, column 4"),
        (b'"\x01"', "Invalid control character at at line 1, column 2"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b"1e9999999999999999999", "the number 1e9999999999999999999 is out of range"),
    ],
)
def test_other_json_is_refused(body: bytes, message: str) -> None:
    """The error says what is wrong and where."""
    with pytest.raises(JsonTextError) as caught:
        loads(body)

    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (rb'"\ud800"', "a text has half of a surrogate pair, which is not a character"),
        (rb'{"\udc00": 1}', "a text has half of a surrogate pair, which is not a character"),
        (b"[" * 400 + b"]" * 400, "nested too deeply"),
    ],
)
def test_what_has_no_canonical_text_is_refused(body: bytes, message: str) -> None:
    """Half a surrogate pair cannot be written again, nor can hundreds of levels."""
    value = loads(body)

    with pytest.raises(JsonTextError) as caught:
        canonical(value)

    assert str(caught.value) == message


def test_a_pair_of_surrogates_is_one_character() -> None:
    """An escaped pair is the character that it encodes."""
    assert canonical(loads(rb'"\ud83d\ude00"')) == '"😀"'.encode()


def test_what_is_no_json_value_is_refused() -> None:
    """A value that cannot come from JSON is refused."""
    with pytest.raises(JsonTextError):
        canonical(object())


def refusal(reader: Callable[[bytes], Any], body: bytes) -> str | None:
    """Return the error of a reader, or None."""
    try:
        reader(body)
    except JsonTextError as error:
        return str(error)
    return None


def strictly(body: bytes) -> None:
    """Read with `loads`, and refuse what has no canonical text."""
    canonical(loads(body, deepest=DEEPEST))


def spelled(value: Any) -> Any:  # noqa: ANN401 - JSON is any
    """Return a value as `read` returns it, with numbers without lexeme."""
    if isinstance(value, dict):
        return {name: spelled(each) for name, each in value.items()}
    if isinstance(value, list):
        return [spelled(each) for each in value]
    return Decimal(value) if type(value) is int else value


@given(plain)
def test_the_fast_reader_reads_the_same_values(value: Any) -> None:  # noqa: ANN401 - JSON is any
    """`read` returns what `loads` returns, with whole numbers as ints and others as exact Decimals."""
    body = json.dumps(value, ensure_ascii=False).encode()

    quick = read(body)

    assert spelled(quick) == loads(body)
    assert not any(isinstance(each, float) for each in parts(quick))


def parts(value: Any) -> list[Any]:  # noqa: ANN401 - JSON is any
    """Return all parts of a value."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value, *(part for each in inner for part in parts(each))]


@given(st.lists(tokens, max_size=9).map("".join) | plain.map(json.dumps) | texts)
def test_the_fast_reader_takes_and_refuses_the_same(text: str) -> None:
    """`read` accepts what `loads` accepts, and refuses the rest with the same message."""
    body = text.encode()

    assert refusal(read, body) == refusal(strictly, body)


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":1,"a":2}',
        b'{"a":{"b":1,"b":1}}',
        b'[{"a":1,"\\u0061":2}]',
        b"NaN",
        b"[-Infinity]",
        b'"\xff"',
        b'"\\ud800"',
        b"[" * 300 + b"]" * 300,
        b"[" * 100_000,
        b"",
        b"\xef\xbb\xbf1",
    ],
)
def test_the_fast_reader_is_as_strict(body: bytes) -> None:
    """Duplicates, invalid constants, half surrogate pairs and depth are refused with the same message."""
    assert refusal(read, body) == refusal(strictly, body) is not None


def test_the_fast_reader_accepts_what_only_the_other_can_read() -> None:
    """A whole number of five thousand digits is accepted."""
    digits = b"7" * 5_000

    assert read(b"[" + digits + b"]") == [Decimal(digits.decode())]


@pytest.mark.parametrize(
    ("body", "deepest", "where"),
    [
        (b"[[1], [2]]", 2, None),
        (b"[[1], [[2]]]", 2, "line 1, column 8"),
        (b'{"a": {"[{[{": "]\\"[[["}}', 2, None),
        ('{"é":\n "ü", "b": [{}]}'.encode(), 2, "line 2, column 13"),
        (b"[[[", 2, "line 1, column 3"),
        (b'["\\', 0, "line 1, column 1"),
    ],
)
def test_a_text_may_be_as_deep_as_its_reader_allows(body: bytes, deepest: int, where: str | None) -> None:
    """Brackets in strings do not count; the place is that of the first list or object that is too deep."""
    if where is None:
        check_depth(body, deepest)
        return

    with pytest.raises(JsonTextError) as caught:
        loads(body, deepest=deepest)

    assert str(caught.value) == f"nested more than {deepest} levels deep at {where}"


@pytest.mark.parametrize("body", [b"[" * 255 + b"]" * 255, b"[" * 100_000])
def test_what_could_not_be_written_again_is_not_read(body: bytes) -> None:
    """The error for too deep nesting says where."""
    with pytest.raises(JsonTextError, match=r"^nested more than 254 levels deep at line 1, column 255$"):
        read(body)
