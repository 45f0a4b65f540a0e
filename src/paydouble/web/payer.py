"""The payer's page behind `payment_url`: what is to be paid, and a button for each thing that the payer can do.

    GET   the page, with buttons while the script of the pay-in waits for the payer
    POST  one action; then 303 to the deposit's `return_url`, or back to the page without one, or if it asks again

Each button belongs to a plain form: the page has no script. The ids and texts that it shows may come from anybody, so
`markup` escapes every value that is not markup itself. A form of another site is refused: by its `Origin` with the
rules of all control calls (`control/access.py`), and by `Sec-Fetch-Site`.

Who pays comes back when the events that follow soon have been sent, as after most payments. With the button
"Pay, and come back first" the browser is in the shop before them.
"""

from __future__ import annotations

from functools import cache
from html import escape
from importlib.resources import files
from typing import Final
from urllib.parse import parse_qs, unquote, urlencode

from aiohttp import web
from pydantic import ValidationError

from paydouble.core.errors import ApiError, UnknownThing
from paydouble.core.money import write_minor
from paydouble.payments.declines import DECLINES
from paydouble.payments.lifecycle import is_final
from paydouble.payments.resources import PayIn
from paydouble.runtime.host import Host
from paydouble.sandbox import Sandbox
from paydouble.sandbox.commands import PlayStep
from paydouble.scenarios.play import PayerAction
from paydouble.scenarios.steps import AwaitPayer
from paydouble.web.addresses import CONTROL_PREFIX
from paydouble.web.bodies import read_body
from paydouble.web.targets import parse_query

PREFIX: Final = f"{CONTROL_PREFIX}/checkout/"
"""The path of the page of a pay-in, without the pay-in's id."""
COLOURS: Final = f"{CONTROL_PREFIX}/docs/colours.css"
STYLES: Final = f"{CONTROL_PREFIX}/docs/payer.css"
PATIENCE_SECONDS: Final = 5.0
"""Real seconds for which a payer who pays waits at most, before the browser is led back."""
_BODY_LIMIT: Final = 4_096
_MOST_FIELDS: Final = 8
_POLICY: Final = "default-src 'self'; img-src data:; base-uri 'none'; frame-ancestors 'none'"


class Markup(str):
    """HTML that needs no escaping."""

    __slots__ = ()


def markup(template: str, **values: object) -> Markup:
    """Return a template of HTML with its `{names}` replaced; each value is escaped, unless it is `Markup`."""
    return Markup(template.format(**{name: _escaped(value) for name, value in values.items()}))


def _escaped(value: object) -> str:
    return value if isinstance(value, Markup) else escape(str(value))


class PayerPages:
    """The payers' pages of one server."""

    def __init__(self, host: Host) -> None:
        """Show the pay-ins of a host's sandboxes."""
        self._host = host

    async def answer(self, request: web.BaseRequest, target: str, query: str) -> web.Response:
        """Return the answer to a request for the page at `target`, a path below `PREFIX`."""
        if request.method not in {"GET", "HEAD", "POST"}:
            refused = _page("There is no such action", _text("This page takes GET and POST."), status=405)
            refused.headers["Allow"] = "GET, HEAD, POST"
            return refused
        pay_in_id = unquote(target.removeprefix(PREFIX))
        boxes = self._boxes(pay_in_id, parse_query(query).get("sandbox"))
        if not boxes:
            text = "The server has no pay-in {id}. It may have been deleted, or the server was started again."
            return _page("There is no such payment", markup(f"<p>{text}</p>", id=pay_in_id[:64]), status=404)
        if len(boxes) > 1:
            return _choice(boxes)
        box = boxes[0]
        self._host.leases.renew(box)
        box.tick()
        pay_in = box.ledger.get(PayIn, pay_in_id)
        if request.method == "POST":
            return await self._act(request, box, pay_in, f"{target}?{query}" if query else target)
        return _payment(box, pay_in)

    def _boxes(self, pay_in_id: str, wanted: str | None) -> list[Sandbox]:
        """Return the sandboxes that have a pay-in; those with the same seed have the same ids."""
        return [
            box
            for box in self._host.registry
            if isinstance(box.ledger.find(pay_in_id), PayIn) and wanted in {None, box.identity.id}
        ]

    async def _act(self, request: web.BaseRequest, box: Sandbox, pay_in: PayIn, here: str) -> web.Response:
        if request.headers.get("Sec-Fetch-Site", "same-origin") not in {"same-origin", "none"}:
            return _payment(box, pay_in, "A page of another site may not act as the payer.", status=403)
        body, problem = await read_body(request, _BODY_LIMIT, self._host.bodies)
        if problem:
            return _payment(box, pay_in, problem, status=400)
        fields = _fields(body)
        first = fields.pop("back", "") == "first"
        try:
            done = PayerAction.model_validate(fields)
        except ValidationError:
            actions = "The form has an action (pay, decline or abandon), and with decline a code."
            return _payment(box, pay_in, actions, status=400)
        try:
            self._host.act(box, lambda: box.payer_acts(pay_in, done))
            if not first:
                await self._host.until(box, lambda: not _more_soon(box, pay_in), PATIENCE_SECONDS)
        except ApiError as error:
            return _payment(box, pay_in, error.message, status=409)
        except UnknownThing as error:  # deleted meanwhile
            return _page("There is no such payment", _text(str(error)), status=404)
        # The API accepts only a return_url of printable ASCII characters.
        location = pay_in.return_url if box.scripts.awaited(pay_in) is None and pay_in.return_url else here
        return web.Response(status=303, headers={"Location": location, **_HEADERS})


def _fields(body: bytes) -> dict[str, str]:
    """Return the fields of a form; none of a body that is no form."""
    try:
        found = parse_qs(body.decode(), max_num_fields=_MOST_FIELDS, errors="strict")
    except ValueError:
        return {}
    return {name: values[-1] for name, values in found.items()}


def _more_soon(box: Sandbox, pay_in: PayIn) -> bool:
    """Return whether the script goes on, or something is sent, while a payer waits."""
    for timer in box.timers.of(pay_in.id):
        if isinstance(timer.command, PlayStep) and box.scripts.awaited(pay_in) is None:
            seconds = box.clock.real_seconds_until(timer.due)
            soon = timer.due <= box.now if seconds is None else seconds <= PATIENCE_SECONDS
            if soon or box.clock.mode == "auto":
                return True
    return not box.outbox.quiet


def _payment(box: Sandbox, pay_in: PayIn, problem: str = "", *, status: int = 200) -> web.Response:
    """Return the page of a pay-in, with what the payer can do now."""
    step = box.scripts.awaited(pay_in)
    amount = f"{write_minor(pay_in.amount, pay_in.digits)} {pay_in.currency}"
    body = markup(
        "{problem}<dl>"
        '<div><dt>Amount</dt><dd class="amount">{amount}</dd></div>'
        "<div><dt>Order</dt><dd>{order}</dd></div>"
        "<div><dt>Payment</dt><dd><code>{id}</code></dd></div>"
        '<div><dt>Status</dt><dd><span class="status {status}">{status}</span></dd></div>'
        "<div><dt>Back to the shop</dt><dd>{back}</dd></div>"
        "</dl>{actions}",
        problem=markup('<p role="alert"><strong>{text}</strong></p>', text=problem) if problem else Markup(),
        amount=amount,
        order=pay_in.external_identifier,
        id=pay_in.id,
        status=pay_in.status,
        back=_back(pay_in.return_url),
        actions=_idle(box, pay_in) if step is None else _actions(step, amount),
    )
    moves = step is None and not is_final(pay_in.TABLE, pay_in.status) and box.clock.mode != "manual"
    title = f"Payment of {amount}" if step is None else step.prompt or f"Pay {amount}"
    return _page(title, body, status=status, refresh=moves)


def _back(url: str | None) -> Markup:
    if url is None:
        return Markup("The deposit has no return_url.")
    return markup('<a href="{url}">{url}</a>', url=url)


def _actions(step: AwaitPayer, amount: str) -> Markup:
    pay = '<form method="post"><button class="main" name="action" value="pay">Pay {amount}</button></form>'
    forms = [markup(pay, amount=amount)]
    if _can_return_first(step):
        forms.append(
            Markup(
                '<form method="post"><input type="hidden" name="back" value="first">'
                '<button name="action" value="pay">Pay, and come back before the webhook</button></form>'
            )
        )
    codes = Markup("".join(markup('<option value="{code}">{code}</option>', code=code) for code in DECLINES))
    forms.append(
        markup(
            '<form method="post"><label for="code">Or be declined, with a failure code</label>'
            '<select id="code" name="code">{codes}</select>'
            '<button name="action" value="decline">Decline</button></form>',
            codes=codes,
        )
    )
    forms.append(Markup('<form method="post"><button name="action" value="abandon">Abandon</button></form>'))
    return Markup("".join(forms))


def _can_return_first(step: AwaitPayer) -> bool:
    """Return whether some time passes between the payment and its first event."""
    return bool(step.sides["pay"]) and step.sides["pay"][0].after > 0


def _idle(box: Sandbox, pay_in: PayIn) -> Markup:
    if is_final(pay_in.TABLE, pay_in.status):
        return _text(f"The payment is {pay_in.status}. There is nothing left to do.")
    text = "Nothing is asked of the payer now. The scenario {name} decides what happens to this payment."
    return markup(f"<p>{text}</p>", name=box.scenarios.of(pay_in).name)


def _choice(boxes: list[Sandbox]) -> web.Response:
    """Return a page that asks which sandbox is meant."""
    links = [
        markup(
            '<li><a href="?{query}">{id}</a></li>', query=urlencode({"sandbox": box.identity.id}), id=box.identity.id
        )
        for box in boxes
    ]
    text = "Several sandboxes have the same seed, and a payment with this id. Choose the sandbox:"
    body = markup("<p>{text}</p><ul>{links}</ul>", text=text, links=Markup("".join(links)))
    return _page("Which payment?", body, status=409)


def _text(text: str) -> Markup:
    return markup("<p>{text}</p>", text=text)


_HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Server": "paydouble",
}


def _page(title: str, body: Markup, *, status: int = 200, refresh: bool = False) -> web.Response:
    html = markup(
        _template(),
        title=title,
        colours=COLOURS,
        styles=STYLES,
        refresh=Markup('<meta http-equiv="refresh" content="1">') if refresh else Markup(),
        body=body,
    )
    headers = {"Content-Type": "text/html; charset=utf-8", **_HEADERS}
    return web.Response(body=html.encode("utf-8", "replace"), status=status, headers=headers)


@cache
def _template() -> str:
    return (files("paydouble.web") / "static" / "payer.html").read_text("utf-8")
