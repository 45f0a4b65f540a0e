"""The worker: takes each job that is due, and removes it when it is done."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import requests
from django.db import transaction
from django.db.models import F

from djangoshop.models import Charge, Event, Job, Order, Refund
from djangoshop.payments import Books

log = logging.getLogger(__name__)

TIMEOUT = (5, 12)
LEASE_SECONDS = 300.0
LONGEST_DELAY = 600.0
POLL_EVERY = 3600.0
KEY_MAX_AGE = 20 * 3600
# An error that is stored under a key stays; after so long it is looked up instead.
PATIENCE = 900.0


class Later(Exception):
    """Not now; the job is due again after some seconds, or after a growing delay."""

    def __init__(self, seconds: float | None = None) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class KeepsFailing(Later):
    """The answer was an error of the server, which may be stored under the key."""


class Refused(Exception):
    """The service said no, for good."""


class Worker:
    """Runs jobs."""

    def __init__(
        self, session: requests.Session, base_url: str, now: Callable[[], float], bugs: frozenset[str]
    ) -> None:
        self.session = session
        self.base_url = base_url
        self.now = now
        self.bugs = bugs
        self.books = Books(bugs)

    # The queue

    def run_due(self, limit: int = 200) -> None:
        """Run what is due now, including what becomes due meanwhile."""
        for _ in range(limit):
            job = self.claim()
            if job is None:
                return
            self.run(job)

    def claim(self) -> Job | None:
        now = self.now()
        with transaction.atomic():
            waiting = Job.objects.select_for_update().filter(is_done=False, due__lte=now, leased_until__lte=now)
            job: Job | None = waiting.order_by("due", "id").first()
            if job is None:
                return None
            job.leased_until = 1e18 if "no_lease" in self.bugs else now + LEASE_SECONDS
            job.runs += 1
            job.save()
        return job

    def run(self, job: Job) -> None:
        work: Callable[[Job], None] = getattr(self, f"do_{job.kind}")
        try:
            work(job)
        except Later as later:
            delay = later.seconds if later.seconds is not None else min(2.0**job.runs, LONGEST_DELAY)
        except Exception:
            log.exception("job %s failed", job.kind)
            delay = min(2.0**job.runs, LONGEST_DELAY)
        else:
            return
        Job.objects.filter(id=job.id, is_done=False).update(due=self.now() + delay, leased_until=0)

    def finish(self, job: Job) -> None:
        """In the same transaction as the work."""
        Job.objects.filter(id=job.id).update(is_done=True)

    # HTTP

    def post(self, path: str, key: uuid.UUID, body: str) -> dict[str, Any]:
        headers = {"Idempotency-Key": str(key), "Content-Type": "application/json"}
        try:
            response = self.session.post(
                self.base_url + path, data=body.encode(), headers=headers, timeout=TIMEOUT, allow_redirects=False
            )
        except requests.RequestException as error:
            raise Later from error
        if response.status_code == 429:
            if "rate_limit_is_a_failure" in self.bugs:
                raise Refused
            raise Later(0.0 if "retries_at_once" in self.bugs else self.until_reset(response))
        if response.status_code in {400, 422}:
            raise Refused
        if response.status_code == 500:
            raise KeepsFailing
        return self.data(response)

    def get_all(self, path: str, **query: str) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        while True:
            try:
                response = self.session.get(
                    self.base_url + path, params={"limit": "100", **query}, timeout=TIMEOUT, allow_redirects=False
                )
            except requests.RequestException as error:
                raise Later from error
            if response.status_code == 429:
                raise Later(self.until_reset(response))
            page = self.data(response)
            items += page["items"]
            if not page.get("next_cursor"):
                return items
            query["cursor"] = page["next_cursor"]

    def data(self, response: requests.Response) -> dict[str, Any]:
        try:
            data = json.loads(response.content, parse_float=Decimal)["data"]
        except (ValueError, KeyError, TypeError) as error:
            raise Later from error
        if response.status_code not in {200, 201} or not isinstance(data, dict):
            raise Later
        return data

    def until_reset(self, response: requests.Response) -> float:
        """Read the reset in whatever unit it is."""
        try:
            reset = float(response.headers["X-RateLimit-Reset"])
        except (KeyError, ValueError):
            return 30.0
        for divisor in (1000.0, 1.0):
            if reset / divisor > 1e9:
                reset = reset / divisor - self.now()
                break
        return min(max(reset, 0.0) + 1.0, LONGEST_DELAY)

    # The jobs

    def do_charge(self, job: Job) -> None:
        """Create the pay-in of a charge."""
        charge = Charge.objects.get(id=job.subject)
        if charge.status == "new" and self.now() - charge.key_made_at > KEY_MAX_AGE:
            self.poll(charge.order)
            charge.refresh_from_db()
            if charge.status == "new":
                charge.key, charge.key_made_at = uuid.uuid4(), self.now()
                charge.save(update_fields=["key", "key_made_at"])
        if charge.status != "new":
            self.finish(job)
            return
        order = charge.order
        key = uuid.uuid4() if "key_made_by_the_job" in self.bugs else charge.key
        rest = {
            "currency": order.currency,
            "external_identifier": order.id,
            "payment_method": {"type": "CREDIT_CARD"},
            "customer": {"first_name": "Django", "last_name": "Reinhardt", "email": order.email},
        }
        data: dict[str, Any] | None = None
        try:
            data = self.post(
                "/api/v1/pay-in/deposit-creation", key, f'{{"amount":{order.amount},{json.dumps(rest)[1:]}'
            )
        except Refused:
            pass
        except KeepsFailing:
            if self.now() - charge.key_made_at < PATIENCE:
                raise
            self.poll(order)
        except Later:
            if job.runs < 5 or "gives_up_as_failed" not in self.bugs:
                raise
        with transaction.atomic():
            self.finish(job)
            if data is not None:
                self.books.learn(data)
            elif Charge.objects.filter(id=charge.id, status="new").update(status="refused"):
                self.books.refresh(Order.objects.get(id=order.id))

    def do_refund(self, job: Job) -> None:
        """Create a refund."""
        refund = Refund.objects.filter(id=job.subject).first()
        if refund is not None and refund.status == "new" and self.now() - refund.key_made_at > KEY_MAX_AGE:
            self.poll(refund.order)
            refund.refresh_from_db()
            if refund.status == "new":
                refund.key, refund.key_made_at = uuid.uuid4(), self.now()
                refund.save(update_fields=["key", "key_made_at"])
        if refund is None or refund.status != "new":
            self.finish(job)
            return
        rest = {"payin_id": refund.payin_id, "external_identifier": refund.id}
        body = f'{{"amount":{refund.amount},{json.dumps(rest)[1:]}'
        if "refund_without_amount" in self.bugs:
            body = json.dumps(rest)
        data: dict[str, Any] | None = None
        try:
            data = self.post("/api/v1/refund/refund-creation", refund.key, body)
        except Refused:
            pass
        except KeepsFailing:
            if self.now() - refund.key_made_at < PATIENCE:
                raise
            self.poll(refund.order)
        except Later:
            if "refund_row_deleted" in self.bugs:
                with transaction.atomic():
                    self.finish(job)
                    refund.delete()
                return
            raise
        if data is not None and "refund_without_amount" in self.bugs:
            data["amount"] = refund.amount
        with transaction.atomic():
            self.finish(job)
            if data is not None:
                self.books.learn(data)
            else:
                Refund.objects.filter(id=refund.id, status="new").update(status="refused")

    def do_event(self, job: Job) -> None:
        """Apply a webhook."""
        event = json.loads(Event.objects.get(id=job.subject).body, parse_float=Decimal)
        with transaction.atomic():
            self.books.learn(event["data"]["object"], is_event=True)
            self.finish(job)

    def do_ship(self, job: Job) -> None:
        """Send the parcel, unless it is not wanted any more."""
        if "shipped_then_noted" in self.bugs:
            with transaction.atomic():
                Order.objects.filter(id=job.subject).update(parcels=F("parcels") + 1)
            with transaction.atomic():
                self.finish(job)
            return
        with transaction.atomic():
            if self.is_wanted(Order.objects.select_for_update().get(id=job.subject)):
                Order.objects.filter(id=job.subject).update(parcels=F("parcels") + 1)
            self.finish(job)

    def is_wanted(self, order: Order) -> bool:
        """Return whether not all of an order's money is asked back."""
        paid = sum(Decimal(each.amount) for each in order.charges.filter(status="succeeded"))
        return paid > sum(Decimal(each.amount) for each in order.refunds.exclude(status="refused"))

    def do_poll(self, job: Job) -> None:
        """Ask about an order, from time to time, without end."""
        self.poll(Order.objects.get(id=job.subject))
        Job.objects.filter(id=job.id).update(due=self.now() + POLL_EVERY, leased_until=0, runs=0)

    def poll(self, order: Order) -> None:
        payins = self.get_all("/api/v1/pay-in", external_identifier=order.id)
        found = list(reversed(payins))
        for payin in payins:
            found += self.get_all("/api/v1/refund", payin_id=payin["id"])
            found += self.get_all("/api/v1/dispute", payin_id=payin["id"])
        with transaction.atomic():
            for data in found:
                self.books.learn(data)
