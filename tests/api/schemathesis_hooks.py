"""What no schema can tell schemathesis about this API; loaded by its command line (`SCHEMATHESIS_HOOKS`).

Only parts of a request that are meant to be valid are touched; what is wrong on purpose goes out as it is.
"""

from __future__ import annotations

import json
import os
from base64 import urlsafe_b64encode
from itertools import count
from typing import Any

import schemathesis
from schemathesis.core.parameters import ParameterLocation

Case = schemathesis.Case[Any]
KEY = "Idempotency-Key"
# What a resource is called in a cursor, where that is not how its identifier begins.
KINDS = {"txn": "transaction"}
# Resource -> identifier of one that exists, made by the test.
LIVING: dict[str, str] = json.loads(os.environ["PAYDOUBLE_TEST_LIVING"])
_numbers = count(1)


@schemathesis.hook
def before_call(context: schemathesis.HookContext, case: Case, kwargs: dict[str, Any]) -> None:
    """Replace what is well-formed but cannot be guessed."""
    # A key belongs to one operation: a second use of it is a replay or a conflict.
    if _is_meant_well(case, ParameterLocation.HEADER) and KEY in (case.headers or {}):
        case.headers[KEY] = f"00000000-0000-4000-8000-{next(_numbers):012x}"
    if _is_meant_well(case, ParameterLocation.PATH) and case.path_parameters:
        case.path_parameters["id"] = LIVING[case.path.split("/")[3]]
    if _is_meant_well(case, ParameterLocation.QUERY) and "cursor" in (case.query or {}):
        # As a list gives it out after its second item; each list takes its own alone.
        kind = LIVING[case.path.split("/")[3]].partition("_")[0]
        case.query["cursor"] = urlsafe_b64encode(f"{KINDS.get(kind, kind)}:2".encode()).decode().rstrip("=")
    if _is_meant_well(case, ParameterLocation.BODY) and isinstance(case.body, dict):
        if "payin_id" in case.body:
            case.body["payin_id"] = LIVING["pay-in"]
        # How many decimal places an amount may have depends on its currency; a whole number suits all of them.
        amount = case.body.get("amount")
        if isinstance(amount, float):
            case.body["amount"] = max(1, round(min(amount, 1e6)))


def _is_meant_well(case: Case, location: ParameterLocation) -> bool:
    components = case.meta.components if case.meta else {}
    return location not in components or not components[location].mode.is_negative
