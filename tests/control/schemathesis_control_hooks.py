"""What no schema can tell schemathesis about the control API; loaded by its command line (`SCHEMATHESIS_HOOKS`).

Only parts of a request that are meant to be valid are touched; what is wrong on purpose goes out as it is.
"""

from __future__ import annotations

import json
import os
from typing import Any

import schemathesis
from schemathesis.core.parameters import ParameterLocation

Case = schemathesis.Case[Any]
# Part of a path -> identifier of something that exists there.
LIVING: dict[str, str] = json.loads(os.environ["PAYDOUBLE_TEST_LIVING"])
# A refusal that speaks of the call as a whole has no member.
_ABOUT_THE_CALL = ("The body", "The Content-Type", "This call takes no body")


@schemathesis.hook
def before_call(context: schemathesis.HookContext, case: Case, kwargs: dict[str, Any]) -> None:
    """Replace what is well-formed but cannot be guessed, or would cost time or the sandbox itself."""
    if _is_meant_well(case, ParameterLocation.PATH) and case.path_parameters:
        deletes = case.method.upper() == "DELETE" and case.path.endswith("{s}")
        case.path_parameters["s"] = "nobody" if deletes else "default"
        if "id" in case.path_parameters:
            case.path_parameters["id"] = LIVING[case.path.split("/")[4]]
        if "name" in case.path_parameters:
            case.path_parameters["name"] = "happy-path"
    if _is_meant_well(case, ParameterLocation.BODY) and isinstance(case.body, dict):
        if case.path.endswith("/wait"):
            case.body["timeout"] = "0s"
        if case.body.get("notification_url"):
            case.body["notification_url"] = "http://127.0.0.1:9/"
        if case.body.get("ttl"):
            case.body["ttl"] = "1h"  # the sandbox is needed until the end
        if "object_id" in case.body:
            case.body["object_id"] = LIVING["pay-ins"]


@schemathesis.check
def refusal_names_the_member(context: schemathesis.CheckContext, response: schemathesis.Response, case: Case) -> None:
    """Every refusal is one error with a code and a sentence; one about a member names it."""
    if response.status_code < 400:
        return
    error = response.json()["error"]
    assert error["code"], error
    assert error["message"], error
    if response.status_code == 400 and not error["message"].startswith(_ABOUT_THE_CALL):
        assert error.get("member"), error
        assert error["message"].startswith(f"{error['member']}:"), error


def _is_meant_well(case: Case, location: ParameterLocation) -> bool:
    components = case.meta.components if case.meta else {}
    return location not in components or not components[location].mode.is_negative
