"""PyYAML's errors as diagnostics: what is wrong in the text, and the likely mistake."""

from __future__ import annotations

import re
from typing import Any, Final

from paydouble.yamlfile.diagnostics import Diagnostic, Span, lines_of, of_text

_CANNOT_BEGIN: Final = "found character that cannot start any token"
_NO_VALUE: Final = "did not find expected node content"
_NO_COLON: Final = "could not find expected ':'"
# A part of the parser's message, our message, how to fix it; the first that matches is used.
_KNOWN: Final = (
    (
        "mapping values are not allowed",
        "a value cannot be a key of another value on the same line",
        "put a text that contains ': ' in quotes; otherwise check the indentation",
    ),
    (
        "block sequence entries are not allowed",
        "a list cannot begin on the line of its key",
        "begin it on the next line, or write it as [a, b]",
    ),
    ("did not find expected ',' or ']'", "the list that begins with [ has no end", "close it with ]"),
    ("did not find expected ',' or '}'", "the mapping that begins with { has no end", "close it with }"),
    (
        "did not find expected '-'",
        "this is neither an item of the list above it nor less indented than the list",
        "begin it with '- ', or separate keys and items",
    ),
    (
        "did not find expected key",
        "this does not line up with the keys above it",
        "keys of one mapping begin in the same column; put all of a text in quotes, not a part of it",
    ),
    (_NO_COLON, "there is a key without a colon", "write it as 'key: value'"),
    ("found unexpected end of stream", "the text in quotes has no end", "close it with the same quote"),
    (_NO_VALUE, "there is no value here", "put a text that begins with a special character in quotes"),
    (
        "found unknown escape character",
        "this escape is not known",
        "in single quotes a backslash has no special meaning",
    ),
    ("found unexpected ':'", "a colon is not valid here", "put the text in quotes"),
    ("did not find expected <document start>", "there is text after the end of the document", "remove it"),
)


def translated(error: Any, text: str) -> Diagnostic:  # noqa: ANN401 - PyYAML has no types
    """Return the diagnostic for a `MarkedYAMLError`."""
    lines = lines_of(text)
    problem = str(error.problem)
    # For a key without a colon `problem_mark` is the end of the line, so the mark of the key is used.
    mark = error.context_mark if _NO_COLON in problem else error.problem_mark
    span = Span(mark.line, mark.column, 1)
    # A tab makes the parser report something else, further on; the tab itself is invisible to the writer.
    for number, line in enumerate(lines[: span.line + 1]):
        indentation = re.match(r"[ \t]*", line)
        if indentation and "\t" in indentation[0]:
            return of_text(
                Span(number, indentation[0].index("\t"), 1), "a tab in the indentation", advice="indent with spaces"
            )
    if _CANNOT_BEGIN in problem:
        sign = lines[span.line][span.column : span.column + 1]
        return of_text(span, f"a value cannot begin with {sign}", advice="put it in quotes")
    if _NO_VALUE in problem and not "".join(lines[span.line :])[span.column :].strip():
        return of_text(_inside(span, lines), "the text ends inside a list or a mapping", advice="close it with ] or }")
    for words, message, advice in _KNOWN:
        if words in problem:
            opened = error.context_mark
            begins = (
                f" (it begins at line {opened.line + 1}, column {opened.column + 1})" if "no end" in message else ""
            )
            return of_text(_inside(span, lines), f"{message}{begins}", advice=advice)
    return of_text(span, f"this is not YAML: {problem}")


def _inside(span: Span, lines: list[str]) -> Span:
    """Return a span inside the text: its end, when the parser reports a place after it."""
    line, column = span.line, span.column
    while line > 0 and (line >= len(lines) or not lines[line].strip()):
        line -= 1
        column = len(lines[line])
    return Span(line, column, 1)
