"""How a diagnostic is printed."""

from __future__ import annotations

from paydouble.core.likeness import nearest
from paydouble.yamlfile.diagnostics import Diagnostic, Span, in_file, listed, of_text, render


def test_a_diagnostic_is_printed_like_a_compilers() -> None:
    """It has the place, the message, the line with a mark under the whole token, and notes on how to fix it."""
    diagnostic = Diagnostic(
        ("a", 0), "'paid' is wrong", "pending or failed", "pending", "see the page", span=Span(1, 4, 4)
    )
    found = in_file([diagnostic], "x.yaml", "a:\n  - paid\n", 9)

    assert [render(each) for each in found] == [
        [
            "x.yaml:2:5: error: 'paid' is wrong",
            "  2 |   - paid",
            "    |     ^^^^",
            "    = expected pending or failed",
            "    = did you mean 'pending'?",
            "    = see the page",
        ]
    ]
    assert (found[0].sentence, diagnostic.member) == (
        "'paid' is wrong; expected pending or failed; did you mean 'pending'?; see the page",
        "a.0",
    )


def test_diagnostics_are_sorted_by_their_place() -> None:
    """The order in which they were found does not matter, and only the first ones are kept."""
    found = [of_text(Span(2, 0, 1), "c"), of_text(Span(0, 5, 1), "b"), of_text(Span(0, 1, 1), "a")]

    assert [each.message for each in in_file(found, "x", "", 2)] == ["a", "b"]


def test_a_long_line_is_shown_around_the_mark() -> None:
    """The printed line fits a terminal, however long the line is."""
    text = "x" * 500 + "HERE" + "y" * 500
    (found,) = in_file([of_text(Span(0, 500, 4), "wrong")], "x.yaml", text, 9)

    _, source, mark = render(found)

    assert source[mark.index("^") : mark.rindex("^") + 1] == "HERE"
    assert (len(source) < 140, source[-1]) == (True, "…")


def test_control_characters_are_not_printed() -> None:
    """A tab is printed as a space, so that the mark fits, and a control character as a sign."""
    (found,) = in_file([of_text(Span(0, 6, 1), "wrong")], "x.yaml", "a\tb \x1b[1m", 9)

    assert render(found)[1:] == ["  1 | a b �[1m", "    |       ^"]


def test_a_mark_after_the_end_is_shown() -> None:
    """A place after the end of a line can be marked, and a line that does not exist is left out."""
    end, gone = in_file([of_text(Span(0, 2, 9), "short"), of_text(Span(7, 0, 1), "gone")], "x.yaml", "a:", 9)

    assert render(end) == ["x.yaml:1:3: error: short", "  1 | a:", "    |   ^"]
    assert render(gone) == ["x.yaml:8:1: error: gone"]


def test_names_are_listed_as_in_a_sentence() -> None:
    """One, two and many names are joined; those that do not fit are counted."""
    assert [listed(names) for names in ([], ["a"], ["a", "b"], "abc")] == ["", "a", "a or b", "a, b or c"]
    assert listed(map(str, range(20))).endswith("14, 15 or 4 more")


def test_the_nearest_name_is_near() -> None:
    """Case does not count, and a name that is not similar is not suggested."""
    assert nearest("Pendign", ["created", "pending"]) == "pending"
    assert nearest("eur", ["EUR"]) == "EUR"
    assert (nearest("xyz", ["pending"]), nearest(5, ["5"]), nearest("a" * 10_000, ["a"])) == ("", "", "")
