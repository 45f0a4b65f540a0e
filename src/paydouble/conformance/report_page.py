"""The HTML report: one file that opens offline, with the bytes and the timeline of each finding."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from paydouble.conformance.levels import LEVELS
from paydouble.conformance.report import Report, text
from paydouble.conformance.run import BINDING

_TEMPLATE: Final = "report.html.j2"


def as_html(report: Report) -> str:
    """Return the report as an HTML document."""
    # Loaded when a page is asked for.
    from jinja2 import Environment, FileSystemLoader  # noqa: PLC0415

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["bytes"] = text
    return environment.get_template(_TEMPLATE).render(report=report, levels=LEVELS, binding=BINDING)
