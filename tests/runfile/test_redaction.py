"""A redacted run has no personal data, and is a run all the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from drive import DEPOSITS, HOUR, Business, deposit_body, key

from paydouble import Sandbox
from paydouble.runfile.files import Run, text_of, unpack
from paydouble.runfile.lines import RunFileError
from paydouble.runfile.recorded import recorded_run
from paydouble.runfile.redaction import Pseudonyms, redacted
from paydouble.runfile.replaying import replay
from paydouble.sandbox.recording import Remark

REFUNDS = "/refund/refund-creation"


def _of(core: Any) -> Run:  # noqa: ANN401 - a business or a sandbox
    return recorded_run(core.sandbox, core.pipeline)


def _redacted(core: Any) -> tuple[Run, str]:  # noqa: ANN401 - a business or a sandbox
    run = redacted(_of(core))
    text = text_of(run)
    assert replay(unpack(text)) is None
    assert run.header["redacted"] is True
    return run, text.decode()


def _statuses(run: Run) -> list[Any]:
    return [(line.get("status"), line.get("type")) for line in run.lines if "is" in line]


CANARIES = [
    *("Kanaria", "Canarella", "kanaria.canarella@vogel.example", "+49 170 7654321", "DE89370400440532013000"),
    *(
        "4111 1111 1111 1111",
        "203.0.113.77",
        "2001:db8:77::1",
        "Finkenweg 12",
        "1990-03-14",
        "Kanariä Ünïcode",
        "🐤 Piep",
    ),
]


def _personal(**changes: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON is any
    return deposit_body(
        customer={
            "first_name": CANARIES[0],
            "last_name": CANARIES[1],
            "email": CANARIES[2],
            "phone": CANARIES[3],
            "address": {"street": CANARIES[8], "born": CANARIES[9]},
            "names": [CANARIES[10], {"pet": CANARIES[11]}],
        },
        metadata={"card": CANARIES[5], "iban": CANARIES[4]},
        ip=CANARIES[6],
        **changes,
    )


def test_no_personal_datum_is_left() -> None:
    """Names, addresses, cards and accounts go, wherever in a run they are; what happened stays."""
    business = Business(receiver=lambda _: 500)
    canary, mail, card, address = CANARIES[0], CANARIES[2], CANARIES[5], CANARIES[6]
    business.post(DEPOSITS, _personal(external_identifier=mail), key=key(1))
    business.post(DEPOSITS, _personal(external_identifier=mail), key=key(1))
    business.post(DEPOSITS, _personal(external_identifier=f"order of {mail}", return_url=f"https://a.test/?m={mail}"))
    business.advance(by=HOUR)
    pay_in = business.pay_in(json.loads(business.get("/pay-in").body)["data"]["items"][1]["id"])
    business.get("/pay-in?external_identifier=" + mail.replace("@", "%40"))
    business.get(f"/pay-in?name={canary}&q")
    business.get(f"/pay-in/{mail}")
    business.get(f"/people/{canary}")
    business.request("HEAD", "/pay-in", remote=CANARIES[6])
    business.post(REFUNDS, {"payin_id": pay_in.id, "amount": 1.5, "reason": f"{canary} wants it"})
    business.sandbox.open_refund(pay_in, amount=100, reason=f"{canary} has sent it back")
    business.sandbox.open_refund(pay_in, amount=100)
    dispute = business.sandbox.open_dispute(pay_in, amount=100, reason=f"{canary} denies")
    business.post(f"/dispute/{dispute.id}/evidence-submission", {"evidence": {"letter": f"Dear {canary}"}})
    business.post("/payout/payout-initiation", {"beneficiary": {"name": canary, "account": CANARIES[4]}})
    business.post(DEPOSITS, b'{"customer": {"first_name": "' + canary.encode())
    business.post(DEPOSITS, f"{canary} {mail}".encode())
    business.post(DEPOSITS, [canary, 1.5, {"x": None, "y": 4111}])
    business.post(DEPOSITS, b'}{"\\u004b": "' + canary.encode() + b'"]')
    business.request("GET", "/pay-in", headers=[("Cookie", f"user={canary}"), ("X-Forwarded-For", address)])
    business.request("POST", DEPOSITS, keys=[canary])
    business.request("GET", "/pay-in", authorization=f"Basic {canary}")
    business.sandbox.set_notification_url(f"http://{canary}:{canary}@hooks.test/a?token={canary}#x")
    business.post(DEPOSITS, deposit_body(notification_url=f"http://hooks.test/?for={mail}"))
    business.deliver_all()
    business.sandbox.set_notification_url(None)
    business.sandbox.emit_event("pay-in.created", pay_in)
    card_order = business.post(DEPOSITS, deposit_body(external_identifier=card))
    business.sandbox.force_transition(pay_in, "failed", force=True)
    run, text = _redacted(business.core)

    assert card_order.status == 200
    assert _statuses(run) == _statuses(_of(business.core))
    for datum in CANARIES:
        assert datum not in text, datum
        assert json.dumps(datum)[1:-1] not in text
        assert datum.encode().hex() not in text
    assert canary.lower() not in text.lower()
    assert "vogel" not in text


def test_control_commands_have_none_either() -> None:
    """A failure's message, a fault, a scenario, and a deposit that a test has played."""
    canary, mail = CANARIES[0], CANARIES[2]
    box = Sandbox({"scenario": "happy-path"}, notification_url=f"http://hooks.test/?of={canary}")
    box.faults.add("error", status=500, times=1, match={"external_identifier": mail})
    box.scenarios.upload({"name": "own", "summary": f"For {mail}.", "lifecycle": {"pay_in": []}})
    pay_in = box.scenarios.play("own", customer={"first_name": canary, "last_name": canary, "email": mail}).id
    box.transition(pay_in, "failed", failure={"code": "odd", "message": f"{canary} left"}, force=True)
    box.webhook.change(notification_url="http://other.test/hook")
    box.change(settings={"retry_after": True})
    box.core.sandbox.recording.did("webhook-replace", box.core.sandbox.now, secret="whsec_9")
    box.handle("POST", DEPOSITS, deposit_body(external_identifier=mail))
    _, text = _redacted(box.core)

    assert canary not in text
    assert mail not in text


def test_the_answers_of_receivers_are_left_out() -> None:
    """Only their status is needed; an error's text stays without addresses."""
    box = Sandbox()

    def receive(_: object) -> int:
        return 200

    box.receiver = receive
    box.handle("POST", DEPOSITS, deposit_body())
    box.deliver()
    run = _of(box.core)
    place = next(place for place, line in enumerate(run.lines) if line.get("do") == "outcome")
    run.lines[place].update(body="Thank you, Kanaria", headers=[["X-User", "Kanaria"]])
    run.lines[place]["error"] = {"kind": "refused", "message": "kanaria@vogel.example is at 203.0.113.77"}
    shown = redacted(run).lines[place]

    assert "body" not in shown
    assert "headers" not in shown
    assert "kanaria" not in shown["error"]["message"]
    assert "203.0.113.77" not in shown["error"]["message"]


def test_what_chose_a_scenario_still_does() -> None:
    """An e-mail at scenario.test names a scenario, a shipped one or the user's own, and nobody's address."""
    box = Sandbox()
    box.scenarios.upload({"name": "own", "summary": "Mine.", "lifecycle": {"pay_in": []}})
    for name in ("card-declined", "own", "Kanaria"):
        box.handle("POST", DEPOSITS, deposit_body(customer={**_CUSTOMER, "email": f"{name}@scenario.test"}))
    run, text = _redacted(box.core)

    assert "card-declined@scenario.test" in text
    assert "own@scenario.test" in text
    assert "Kanaria" not in text
    assert _statuses(run) == _statuses(_of(box.core))


_CUSTOMER = {"first_name": "Ada", "last_name": "Byron", "email": "ada@example.test"}


def test_an_allowed_address_stays_allowed() -> None:
    """A client behind the allow-list is replaced by an address on it, any other by one for documentation."""
    business = Business(allowed_addresses=["203.0.113.0/24"])
    for remote in ("203.0.113.77", "198.51.100.9", "2001:db8:77::1", "127.0.0.1", "not an address"):
        business.request("GET", "/pay-in", remote=remote)
    run, text = _redacted(business.core)

    assert _statuses(run) == _statuses(_of(business.core))
    assert "203.0.113.77" not in text
    assert "198.51.100.9" not in text
    remotes = [line["remote"] for line in run.lines if line.get("do") == "request"]
    assert remotes[0] == "203.0.113.0"
    assert remotes[1].startswith("192.0.2.")
    assert remotes[3:] == ["127.0.0.1", "not an address"]


def test_equal_values_stay_equal_and_others_differ() -> None:
    """A retry with the same body is a replay; one with another name under the same key is a conflict."""
    for fingerprint in ("parsed", "raw"):
        business = Business(fingerprint=fingerprint)
        body = json.dumps(_personal(), ensure_ascii=False)
        other = body.replace("Kanaria", "Kanarie")
        spaced = body.replace(", ", " , ")
        escaped = body.replace("Kanaria", "\\u004banaria")
        for sent in (body, body, other, spaced, escaped):
            business.post(DEPOSITS, sent.encode(), key=key(1))
        run, _ = _redacted(business.core)

        assert _statuses(run) == _statuses(_of(business.core))


def test_pseudonyms_keep_the_form() -> None:
    """Letters stay letters, digits digits, the length stays; a text that cannot change otherwise stays as it is."""
    names = Pseudonyms()
    made = [names.of(text) for text in ("Ada-1 ", "Ada-1 ", "Bob-2 ", "ÄöZ9", "@.", "", "a")]

    assert made[0] == made[1] != made[2]
    assert [len(each) for each in made] == [6, 6, 6, 4, 2, 0, 1]
    assert made[0][3] == "-"
    assert made[0].endswith(" ")
    assert made[0][0].isupper()
    assert made[3].isascii()
    assert made[4:6] == ["@.", ""]
    assert len({Pseudonyms().of("x"), "x"}) == 2


def test_a_run_that_cannot_be_played_without_its_data_is_refused() -> None:
    """The message says to write it raw."""
    business = Business()
    business.post(DEPOSITS, deposit_body())
    business.deliver_all()
    run = _of(business)
    outcome = next(line for line in run.lines if line.get("do") == "outcome")

    with pytest.raises(RunFileError, match=r"cannot be played without its personal data .* write it raw"):
        redacted(run._replace(lines=[*run.lines, outcome]))


def test_notes_lists_and_scenarios_without_a_plain_name() -> None:
    """A note is a text like any other; what has no remote address has none afterwards."""
    business = Business()
    business.request("GET", "/pay-in", remote=None)
    business.sandbox.recording.add(Remark("kanaria@vogel.example calls"))
    run = _of(business)
    run.end["verdict"] = ["kanaria@vogel.example", 7]
    run.header["sandbox"]["scenarios"] = ["{name: own, summary: Mine., lifecycle: {pay_in: []}}"]
    shown = redacted(run)

    assert "remote" not in shown.lines[0]
    assert "kanaria" not in shown.lines[-1]["note"]
    assert shown.end["verdict"][1] == 7
    assert "kanaria" not in shown.end["verdict"][0]
