"""What a run has shown, as data: the JSON and the JUnit report; `report_page.py` makes the HTML page of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from xml.etree import ElementTree as ET

from paydouble.conformance.expected import Expected, compare
from paydouble.conformance.levels import LEVELS, Level
from paydouble.conformance.run import BINDING, Result, Verdict, in_fix_order
from paydouble.core.exit_status import ExitStatus
from paydouble.core.printable import printable

_MOST_SHOWN: Final = 4000


@dataclass(frozen=True, slots=True)
class Report:
    """The results of a run, and how it was run."""

    shop: str
    """The name of the merchant file."""
    path: str
    """The merchant file, as it was named."""
    version: str
    """Of paydouble."""
    seed: int
    strict: bool
    asked: frozenset[str]
    """The clauses that were asked for by their ids, and not with their family."""
    results: tuple[Result, ...]
    known: Mapping[str, str]
    """Known failures: the id of a clause → why."""
    seconds: float
    """Real time."""
    interrupted: bool = False

    @property
    def expected(self) -> Expected:
        """Return what the known failures say about the results."""
        return compare(self.known, self.results)

    @property
    def counts(self) -> Counter[Verdict]:
        """Return how many clauses have each verdict."""
        return Counter(each.verdict for each in self.results)

    @property
    def broken(self) -> list[Result]:
        """Return the broken clauses in the order in which they should be repaired."""
        return in_fix_order(self.results)

    @property
    def untested(self) -> dict[str, list[Result]]:
        """Return the clauses that were not tested, by the reason."""
        found: dict[str, list[Result]] = {}
        for each in self.results:
            if each.verdict == "not_tested":
                found.setdefault(each.reason, []).append(each)
        return found

    @property
    def exit_status(self) -> ExitStatus:
        """Return whether something that binds is broken, or what was asked for could not be tested."""
        fails = [each for each in self.results if each.fails(strict=self.strict) and each.clause.id not in self.known]
        if fails or self.expected.surprises:
            return ExitStatus.NEGATIVE
        untested = {each.clause.id for each in self.results if each.verdict == "not_tested"}
        return ExitStatus.NOT_TESTED if untested & self.asked else ExitStatus.DONE

    def alone(self, result: Result) -> str:
        """Return the command that plays one clause again."""
        return f"paydouble conformance merchant {self.path} --only {result.clause.id} --seed {self.seed}"

    @property
    def binding(self) -> str:
        """Return the levels that fail the run, for a sentence."""
        return ", ".join([*BINDING, *([Level.SHOULD] if self.strict else [])])


def as_json(report: Report) -> str:
    """Return the report as JSON: broken clauses in the order in which to repair them, then the others."""
    others = [each for each in report.results if each.verdict != "broken"]
    document = {
        "shop": report.shop,
        "paydouble": report.version,
        "seed": report.seed,
        "seconds": round(report.seconds, 2),
        "interrupted": report.interrupted,
        "exit_status": report.exit_status,
        "levels": dict(LEVELS),
        "counts": dict(report.counts),
        "no_longer_broken": list(report.expected.surprises),
        "clauses": [_as_document(report, each) for each in (*report.broken, *others)],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _as_document(report: Report, result: Result) -> dict[str, Any]:
    clause = result.clause
    document: dict[str, Any] = {
        "id": clause.id,
        "section": clause.section,
        "level": clause.level,
        "title": clause.title,
        "verdict": result.verdict,
        "seconds": round(result.seconds, 3),
    }
    if result.notes:
        document["notes"] = list(result.notes)
    if result.reason:
        document["reason"] = result.reason
    if result.verdict == "broken":
        document |= {
            "problems": [
                {"level": each.level, "seen": each.seen, "expected": each.expected} for each in result.problems
            ],
            "known": report.known.get(clause.id),
            "costs": result.costs,
            "fix": clause.fix,
            "command": report.alone(result),
            "run": None if result.run is None else str(result.run),
            "exchanges": [
                {
                    "what": each.what,
                    "at": round(each.at, 3),
                    "sent": text(each.sent),
                    "got": text(each.got),
                    "error": each.error,
                }
                for each in result.exchanges
            ],
        }
    return document


def as_junit(report: Report) -> str:
    """Return the report as JUnit XML: a test case for each clause; a broken one that does not bind is no failure."""
    failures = [each for each in report.results if _fails(report, each)]
    suite = ET.Element(
        "testsuite",
        name=f"paydouble conformance: {report.shop}",
        tests=str(len(report.results)),
        failures=str(len(failures)),
        skipped=str(report.counts["not_tested"]),
        time=f"{report.seconds:.3f}",
    )
    for each in report.results:
        case = ET.SubElement(
            suite,
            "testcase",
            classname=f"conformance.{each.clause.family}",
            name=f"{each.clause.id} {each.clause.title}",
            time=f"{each.seconds:.3f}",
        )
        problems = "\n".join(f"{found.level}: {found.seen}; expected: {found.expected}" for found in each.problems)
        if each in failures:
            first = each.problems[0].seen if each.problems else "it is kept, and the file of known failures says broken"
            failure = ET.SubElement(case, "failure", message=_xml(first))
            failure.text = _xml(f"{problems}\nCosts: {each.costs}\nFix: {each.clause.fix}\nAlone: {report.alone(each)}")
        elif each.verdict == "not_tested":
            ET.SubElement(case, "skipped", message=_xml(each.reason))
        elif each.problems:
            ET.SubElement(case, "system-out").text = _xml(problems)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _fails(report: Report, result: Result) -> bool:
    known = result.clause.id in report.known
    return result.clause.id in report.expected.surprises or (result.fails(strict=report.strict) and not known)


def _xml(value: str) -> str:
    """Return a text that XML can contain."""
    return "\n".join(printable(line) for line in value.splitlines())


def text(content: bytes) -> str:
    """Return bytes for a person: as text without control characters, and cut when they are many."""
    shown = content[:_MOST_SHOWN].decode("utf-8", "backslashreplace")
    lines = "\n".join(printable(line) for line in shown.replace("\r\n", "\n").split("\n"))
    more = len(content) - _MOST_SHOWN
    return f"{lines}\n… and {more} bytes more" if more > 0 else lines
