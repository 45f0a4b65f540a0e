"""Named tuples, made quickly."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T", bound=tuple[Any, ...])


def maker(kind: type[T]) -> Callable[[Iterable[Any]], T]:
    """Return what makes a named tuple of all its members, in their order.

    To call the class itself takes longer, since its constructor is a Python function. That is worth avoiding only for
    what every deposit makes. Nothing counts the members here.
    """
    return partial(tuple.__new__, kind)
