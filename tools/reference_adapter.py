"""The page of a machine's adapter, made from the signatures and docstrings; `tools/reference.py` writes it."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Final

from paydouble.stateful import Accepted, Answer, Merchant, Refused, ServiceLike, Webhook

_CLASSES: Final = (
    (Merchant, "What you write", "class ShopAdapter(Merchant)"),
    (ServiceLike, "What your adapter gets", "service: ServiceLike"),
    (Answer, "What `service.call` returns", "Answer"),
    (Webhook, "What `receive` gets", "webhook: Webhook"),
    (Accepted, "What `accepts` takes", "Accepted(because, after)"),
)


def adapter_page() -> str:
    """Return the page."""
    sections = "\n\n".join(_section(*each) for each in _CLASSES)
    return f"""# The adapter

The signatures of what [the machine](hypothesis.md) calls and gives, all from `paydouble.stateful`. An amount is a `Decimal` in units
of its currency with all its digits, such as `Decimal("49.90")` for euros or `Decimal("500")` for yen. A time is in seconds.

{sections}

## Refused

{_text(Refused)}
"""


def _section(kind: type, heading: str, code: str) -> str:
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(body, ast.ClassDef)  # noqa: S101 - getsource of a class is one
    parts = [f"## {heading}", f"`{code}`: {_text(kind)}"]
    for member, following in zip(body.body, [*body.body[1:], None], strict=True):
        if isinstance(member, ast.FunctionDef):
            parts += _method(member)
        elif isinstance(member, ast.AnnAssign):
            parts += _attribute(member, following)
    return "\n\n".join(parts)


def _method(method: ast.FunctionDef) -> list[str]:
    returns = ast.unparse(method.returns) if method.returns else "None"
    text = inspect.cleandoc(ast.get_docstring(method) or "")
    if any(isinstance(each, ast.Name) and each.id == "property" for each in method.decorator_list):
        return [f"### `{method.name}: {returns}`", text]
    method.args.args = method.args.args[1:]  # without self
    return [f"### `{method.name}({ast.unparse(method.args)}) -> {returns}`", text]


def _attribute(attribute: ast.AnnAssign, following: ast.stmt | None) -> list[str]:
    annotation = ast.unparse(attribute.annotation).removeprefix("ClassVar[")
    if annotation != ast.unparse(attribute.annotation):
        annotation = annotation.removesuffix("]")
    value = f" = {ast.unparse(attribute.value)}" if attribute.value else ""
    parts = [f"### `{ast.unparse(attribute.target)}: {annotation}{value}`"]
    if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
        parts.append(inspect.cleandoc(str(following.value.value)))
    return parts


def _text(kind: type) -> str:
    return inspect.getdoc(kind) or ""
