"""Finding a sandbox by its id or by a request's credentials."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paydouble.config import Settings
from paydouble.core.clock import Clock
from paydouble.core.errors import UnknownThing, UsageError
from paydouble.guards.credentials import basic_header
from paydouble.sandbox import Registry, Sandbox
from paydouble.sandbox.identity import Identity


def box(sandbox_id: str = "one", key: str = "key", secret: str = "s3:cret") -> Sandbox:
    """Return a sandbox with these credentials."""
    return Sandbox(
        Identity(sandbox_id, 1, key, secret, "whsec"), Settings(), lambda: Clock(lambda: 0, start=0, mode="manual")
    )


def coded(text: str) -> str:
    """Return base64 of a text."""
    return base64.b64encode(text.encode()).decode()


def test_sandboxes_are_found_by_id_in_the_order_of_creation() -> None:
    """Each is there until it is removed."""
    registry = Registry()
    one, two = box("one", "k1"), box("two", "k2")
    registry.add(one)
    registry.add(two)

    assert (list(registry), len(registry), registry.get("two")) == ([one, two], 2, two)
    assert ("one" in registry, "three" in registry) == (True, False)
    with pytest.raises(UnknownThing, match=r"^There is no sandbox 'three'.$"):
        registry.get("three")


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (box("one", "other"), "id: there already is a sandbox 'one'"),
        (box("two", "key"), "business_key: the key 'key' is another sandbox's"),
    ],
)
def test_ids_and_keys_are_unique(other: Sandbox, message: str) -> None:
    """A second sandbox with the id or the key of the first is refused and leaves no trace."""
    registry = Registry()
    first = box()
    registry.add(first)

    with pytest.raises(UsageError) as caught:
        registry.add(other)

    assert (str(caught.value), list(registry)) == (message, [first])
    assert registry.find(basic_header("key", "s3:cret")) == (first, True)


def test_a_removed_sandbox_is_unknown() -> None:
    """Its credentials are unknown, and its id and key are free."""
    registry = Registry()
    first, second = box(), box()
    registry.add(first)

    registry.remove(first)
    gone = registry.find(basic_header("key", "s3:cret"))
    registry.add(second)

    assert (gone, registry.find(basic_header("key", "s3:cret"))) == ((None, False), (second, True))


@pytest.mark.parametrize(
    ("header", "known", "right"),
    [
        ("Basic " + coded("key:s3:cret"), True, True),
        ("basic " + coded("key:s3:cret"), True, True),
        ("BASIC   " + coded("key:s3:cret") + "  ", True, True),
        ("Basic " + coded("key:wrong"), True, False),
        ("Basic " + coded("key:"), True, False),
        ("Basic " + coded("other:s3:cret"), False, False),
        ("Basic " + coded("key"), False, False),
        ("Basic " + coded("key:s3:cret").rstrip("=") + "!", False, False),
        ("Basic " + coded("ab:cdefg")[:-1], False, False),
        ("Basic", False, False),
        ("Bearer " + coded("key:s3:cret"), False, False),
        ("Basic \udcff", False, False),
        ("", False, False),
        (None, False, False),
    ],
)
def test_a_header_is_looked_up(header: str | None, known: bool, right: bool) -> None:
    """The key finds the sandbox in every spelling of Basic; the secret decides whether it is accepted."""
    registry = Registry()
    sandbox = box()
    registry.add(sandbox)

    assert registry.find(header) == (sandbox if known else None, right)


@given(st.text())
def test_no_header_breaks_the_look_up(text: str) -> None:
    """Any text as credentials finds a sandbox or none."""
    registry = Registry()
    registry.add(box())

    assert registry.find(text) == registry.find(f"Basic {text}") == (None, False)
