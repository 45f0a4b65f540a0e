"""A merchant that is changed on purpose at one place of a recorded run: the replay has to name that line."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from bugzoo.adapter import ZooMerchant
from bugzoo.registry import Variant
from bugzoo.runs import failing_run
from paydouble.runfile.files import Run
from paydouble.runfile.lines import Line
from paydouble.stateful import ServiceLike, Webhook
from paydouble.stateful.run_files import tell


def actions(run: Run) -> list[tuple[int, Line]]:
    """Return the lines of a run file with what its shop did: requests, and answers to webhooks that reached it."""
    return [
        (number, line)
        for number, line in enumerate(run.lines, 2)
        if line.get("do") == "request" or (line.get("do") == "outcome" and line.get("error") is None)
    ]


def changed(merchant: type[ZooMerchant], run: Run, chosen: int) -> type[ZooMerchant]:
    """Return a merchant that does what a line of its run says differently: another target, or another status."""
    line = next(line for number, line in actions(run) if number == chosen)
    earlier = [each for number, each in actions(run) if number < chosen]
    target = line.get("method"), line.get("target")
    to_pass = sum((each.get("method"), each.get("target")) == target for each in earlier)

    class Service:
        """The service, with one request that goes elsewhere."""

        def __init__(self, service: ServiceLike) -> None:
            self._service = service
            self._passed = 0

        def call(self, method: str, where: str, headers: Mapping[str, str], body: bytes = b"", **more: Any) -> Any:  # noqa: ANN401
            if (method, where) == target:
                self._passed += 1
                where += "?changed=1" * (self._passed == to_pass + 1)
            return self._service.call(method, where, headers, body, **more)

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the service has
            return getattr(self._service, name)

    class Changed(merchant):  # type: ignore[misc, valid-type]  # a base that is chosen at run time
        def __init__(self, service: ServiceLike) -> None:
            super().__init__(Service(service))

        def receive(self, webhook: Webhook) -> int:
            here = (webhook.delivery.id, webhook.number) == (line.get("delivery"), line.get("number"))
            try:
                status: int = super().receive(webhook)
            except Exception:
                if here:
                    return 599
                raise
            return status + here

    return Changed


def try_changes(variants: list[Variant]) -> int:
    """Change the merchant of each run at one place, drawn by the run's name; print how often that line is named."""
    right = 0
    tried = [each for each in variants if each.test is None]
    for variant in tried:
        run = failing_run(variant)
        lines = actions(run)
        line = Random(variant.name).choice(lines)[0]
        found = tell(run, changed(variant.merchant, run, line)).difference
        right += found is not None and found.line == line
        if found is None or found.line != line:
            print(f"{variant.name}: changed at line {line}, found {found}", flush=True)
    print(f"{right} of {len(tried)} changes are named by their line")
    return right < len(tried)
