"""The clauses of conformance: played against a shop in a process of its own, and reported."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import ssl
import sys
import warnings
from typing import TYPE_CHECKING, Any, TypeAlias
from xml.etree import ElementTree as ET

import pytest
import trustme
from described_shop import described_shop
from ports import free_port
from receivers import receiving

from paydouble.cli.main import run
from paydouble.conformance.levels import FAMILIES
from paydouble.conformance.merchant_file import MerchantFile
from paydouble.conformance.run import CLAUSES
from paydouble.conformance.webhook_clauses import dispute_outcomes, refund_failures

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Change: TypeAlias = "Callable[[dict[str, Any]], object]"


def _file(folder: Path, mistake: str = "", change: Change = lambda _: None) -> str:
    document = described_shop(folder, mistake)
    change(document)
    path = folder / "merchant.yaml"
    path.write_text(json.dumps(document))
    return str(path)


def test_every_clause_says_what_it_is() -> None:
    """Each has a family, a title without a full stop, what it costs, how to fix it, and a story in a sentence."""
    for name, clause in CLAUSES.items():
        assert clause.id == name
        assert clause.family in FAMILIES, name
        assert clause.costs, name
        assert clause.fix, name
        assert clause.title[0].isupper(), name
        assert not clause.title.endswith("."), name
        assert clause.stimulus.endswith("."), name
    assert list(FAMILIES) == list(dict.fromkeys(clause.family for clause in CLAUSES.values()))


def test_a_correct_shop_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing that was asked for is broken, and a line for each family says so."""
    path = _file(tmp_path)

    assert run(["conformance", "merchant", path, "--only", "W1.1,W1.3,W2.5,W4.4,C2.2,C2.6,C7.4", "--seed", "3"]) == 0
    out = capsys.readouterr().out
    assert "python-shop: 7 clauses, seed 3" in out
    assert "  C2  idempotency keys          ✓✓" in out
    assert "7 kept, 0 broken, 0 not tested" in out


def test_a_shop_may_leave_its_requests_to_a_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The jobs run after a click that has sent nothing, so the same clauses can be played."""
    path = _file(tmp_path, change=lambda document: document["driver"]["reset"]["json"].update(by_job=True))

    assert run(["conformance", "merchant", path, "--only", "W1.1,W6.1,C2.1,C2.2"]) == 0
    assert "4 kept, 0 broken, 0 not tested" in capsys.readouterr().out


def test_orders_may_be_closed_after_half_an_hour(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A shop that tries once a click, and leaves the rest to its jobs, is given its time in small steps."""
    short = {"closes_after": 1800, "tries": 1}
    path = _file(tmp_path, change=lambda document: document["driver"]["reset"]["json"].update(short))

    assert run(["conformance", "merchant", path, "--only", "C4.2,C7.2"]) == 0
    assert "2 kept, 0 broken, 0 not tested" in capsys.readouterr().out


def test_a_shop_that_is_running_has_credentials_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those of the file are the service's, for the clauses and for the doctor."""
    own = {"business_key": "bk_own", "business_secret": "bs_own", "webhook_secret": "whsec_own"}

    def change(document: dict[str, Any]) -> None:
        document["service"] = own
        document["driver"]["reset"]["json"] |= {"key": "bk_own", "secret": "bs_own", "webhook_secret": "whsec_own"}

    path = _file(tmp_path, change=change)

    assert run(["conformance", "merchant", path, "--only", "W1.1,C1.1"]) == 0
    assert run(["conformance", "doctor", path]) == 0
    assert "The shop can be driven and read" in capsys.readouterr().out


def test_a_shop_may_make_the_ids_of_its_orders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The clauses and the doctor look for its deposits by them, and read its books."""

    def change(document: dict[str, Any]) -> None:
        document["driver"]["place_order"] |= {
            "json": {"amount": "{amount}", "currency": "{currency}"},
            "id": "/order/id",
        }

    path = _file(tmp_path, change=change)

    assert run(["conformance", "merchant", path, "--only", "W1.1,C2.1,C2.2"]) == 0
    assert "3 kept, 0 broken, 0 not tested" in capsys.readouterr().out
    assert run(["conformance", "doctor", path]) == 0
    assert "The shop can be driven and read" in capsys.readouterr().out


def test_a_port_that_is_taken_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is played."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        path = _file(tmp_path, change=lambda document: document.update(service={"port": port}))
        assert run(["conformance", "merchant", path]) == 2
    assert f"{port}" in capsys.readouterr().err


def test_a_broken_clause_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each report says what was seen, what it costs, and how to play it alone."""
    path = _file(tmp_path, "believes everybody")
    outputs = [str(tmp_path / name) for name in ("out.html", "out.json", "out.xml")]
    options = ["--html", outputs[0], "--json", outputs[1], "--junit", outputs[2]]
    options += ["--artifacts", str(tmp_path / "runs")]

    assert run(["conformance", "merchant", path, "--only", "W1.2,W3.1,W8.3", "--seed", "5", *options]) == 1
    out = capsys.readouterr().out
    assert "✗ W1.2 M  An event without a signature has no effect" in out
    assert re.search(r"seen +after a forged success with no signature header: status paid,", out)
    assert f"alone     paydouble conformance merchant {path} --only W1.2 --seed 5" in out
    assert "W8.3: the merchant file lacks driver.refund" in out
    assert "1 kept, 1 broken (1 M), 1 not tested" in out
    assert max(len(line) for line in out.splitlines() if path not in line and str(tmp_path) not in line) <= 80
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["W1.2.paydouble"]
    assert run(["replay", str(tmp_path / "runs" / "W1.2.paydouble")]) == 0
    assert "The same bytes" in capsys.readouterr().out
    page = (tmp_path / "out.html").read_text()
    assert "<script" not in page
    assert not re.search(r"(src|href)=.https?:", page.split("<iframe")[0])
    assert page.count("<iframe") == 1
    assert "a forged pay-in.succeeded: no signature header" in page
    document = json.loads((tmp_path / "out.json").read_text())
    assert [each["verdict"] for each in document["clauses"]] == ["broken", "kept", "not_tested"]
    assert any(each["sent"].startswith("POST /webhooks HTTP/1.1") for each in document["clauses"][0]["exchanges"])
    suite = ET.parse(tmp_path / "out.xml").getroot()  # noqa: S314 - our own file
    assert {name: suite.get(name) for name in ("tests", "failures", "skipped")} == {
        "tests": "3",
        "failures": "1",
        "skipped": "1",
    }


def test_what_was_asked_for_and_not_tested_is_no_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit status is 3, and the reason is said."""
    assert run(["conformance", "merchant", _file(tmp_path), "--only", "W7.1"]) == 3
    assert "W7.1: the merchant file lacks a webhook.url that begins with https" in " ".join(
        capsys.readouterr().out.split()
    )


def test_a_request_that_goes_nowhere_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A shop that adds the prefix itself takes another placeholder."""

    def adds_prefix(document: dict[str, Any], url: str) -> None:
        document["driver"]["reset"]["json"]["url"] = url

    wrong = _file(tmp_path, change=lambda document: adds_prefix(document, "{base_url}/api/v1"))
    assert run(["conformance", "merchant", wrong, "--only", "C2.1,W1.1"]) != 0
    out = " ".join(capsys.readouterr().out.split())
    assert "shop sent POST /api/v1/api/v1/pay-in/deposit-creation, for which the service has no operation" in out
    right = _file(tmp_path, change=lambda document: adds_prefix(document, "{root_url}/api/v1"))
    assert run(["conformance", "merchant", right, "--only", "C2.1,W1.1"]) == 0


@pytest.mark.parametrize(("currencies", "status"), [(["JPY"], 0), ([], 1)])
def test_orders_are_in_a_currency_that_the_shop_sells_in(currencies: list[str], status: int, tmp_path: Path) -> None:
    """This shop knows one alone, whatever an order says."""

    def sells_in_yen(document: dict[str, Any]) -> None:
        document["driver"]["place_order"]["json"]["currency"] = "JPY"
        document["currencies"] = currencies

    path = _file(tmp_path, change=sells_in_yen)

    assert run(["conformance", "merchant", path, "--only", "W1.1,W6.5,C6.1"]) == status


def test_a_shop_that_never_asks_is_not_tested_for_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A merchant file can say so; without it the clauses are broken."""

    def never_asks(document: dict[str, Any]) -> None:
        document["reconciles"] = False

    assert run(["conformance", "merchant", _file(tmp_path, change=never_asks), "--only", "W5.3,C7.3"]) == 3
    out = " ".join(capsys.readouterr().out.split())
    assert "W5.3, C7.3: the merchant file lacks reconciles: true, since no event comes and the shop has to ask" in out


def test_what_a_shop_need_not_know_is_not_played(tmp_path: Path) -> None:
    """A dispute that reopens and a refund that fails late come only to a shop that has to understand them."""
    document = described_shop(tmp_path)
    all_of_it = MerchantFile.model_validate(document)
    less = MerchantFile.model_validate({**document, "disputes_can_reopen": False, "refunds_can_fail_late": False})

    assert [outcome for outcome, _, _ in dispute_outcomes(all_of_it)] == ["lost", "won", "won, reopened and lost"]
    assert [outcome for outcome, _, _ in dispute_outcomes(less)] == ["lost", "won"]
    assert list(refund_failures(all_of_it)) == [("failed",), ("succeeded", "failed")]
    assert list(refund_failures(less)) == [("failed",)]


@pytest.mark.parametrize(("least", "status"), [(ssl.TLSVersion.TLSv1_1, 1), (ssl.TLSVersion.TLSv1_2, 0)])
async def test_a_receiver_that_speaks_old_tls_is_broken(
    least: ssl.TLSVersion, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A handshake with TLS 1.1 has to fail; no driver is needed for it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = least
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    async with receiving(tls=context) as receiver:
        path = tmp_path / "merchant.yaml"
        path.write_text(json.dumps({"name": "tls-shop", "webhook": {"url": receiver.url}}))
        done = await asyncio.to_thread(run, ["conformance", "merchant", str(path), "--only", "W7.1"])

    out = capsys.readouterr().out
    assert done == status, out
    assert ("a handshake with TLSv1.1 succeeded" in " ".join(out.split())) == (status == 1)


def test_known_failures_pass_until_they_are_repaired(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A known failure does not fail the run; one that is kept does, and has to be removed from the file."""
    known = tmp_path / "known.yaml"
    known.write_text("known:\n  W1.2: the gateway verifies\n")
    path = _file(tmp_path, "believes everybody")

    assert run(["conformance", "merchant", path, "--only", "W1.2", "--expected", str(known)]) == 0
    assert "known     the gateway verifies" in capsys.readouterr().out
    path = _file(tmp_path)
    assert run(["conformance", "merchant", path, "--only", "W1.2", "--expected", str(known)]) == 1
    assert "W1.2 is kept, and the file of known failures says broken" in capsys.readouterr().out
    known.write_text("known:\n  W1.22: why\n")
    assert run(["conformance", "merchant", path, "--expected", str(known)]) == 2
    assert "'W1.22' is not a clause; did you mean 'W1.2'?" in capsys.readouterr().err


def test_a_clause_without_a_driver(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With a URL alone, headers and bodies are tried; what needs the books is not tested."""

    def change(document: dict[str, Any]) -> None:
        del document["driver"], document["start"]
        document["webhook"]["url"] = f"http://127.0.0.1:{free_port()}/webhooks"

    path = _file(tmp_path, change=change)

    assert run(["conformance", "merchant", path, "--only", "W1"]) == 1
    out = capsys.readouterr().out
    assert "W1.12 M" in out
    assert "no answer: Connection refused" in out
    assert "the merchant file lacks driver, which says how the shop is driven" in " ".join(out.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "W1.99"], "'W1.99' is not a clause; did you mean W1.9?"),
        (["--html", "no/such/out.html"], "no/such/out.html cannot be written: there is no folder no/such"),
        (["--expected", "nowhere.yaml"], "nowhere.yaml"),
    ],
)
def test_wrong_arguments(arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are refused before anything is started."""
    assert run(["conformance", "merchant", _file(tmp_path), *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_shop_that_does_not_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One message says why, with what the shop has printed."""
    path = _file(
        tmp_path,
        change=lambda document: document["start"].update(
            command=[sys.executable, "-c", "raise SystemExit('no database')"]
        ),
    )

    assert run(["conformance", "merchant", path]) == 3
    out = capsys.readouterr().out
    assert "no database" in out
    assert f"Try its calls with: paydouble conformance doctor {path}" in out
    assert "Traceback" not in out
