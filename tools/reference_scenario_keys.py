"""The keys of the scenario format by model, with their descriptions; for `reference_scenarios.py`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pydantic import BaseModel

from paydouble.scenarios import matching, play, steps
from paydouble.scenarios.model import Scenario
from paydouble.yamlfile import schema

# A section's heading, the text above its table, and the model whose keys it lists. Branches and
# repetitions of refunds and disputes have the same keys as those of a pay-in.
SECTIONS: Final[tuple[tuple[str, str, type[BaseModel]], ...]] = (
    ("The file", "One mapping with these keys.", Scenario),
    ("lifecycle", "Each of the three is a list of [steps](#steps).", steps.Lifecycle),
    ("A transition of a pay-in", "", steps.PayInStep),
    ("A transition of a refund", "", steps.RefundStep),
    ("A transition of a dispute", "", steps.DisputeStep),
    ("failure", "", steps.FailureSpec),
    ("A dispute arrives", "Only in a pay-in's script.", steps.OpenDispute),
    ("dispute", "", steps.DisputeSpec),
    ("A refund begins", "Only in a pay-in's script; a refund of the merchant needs no step.", steps.OpenRefund),
    ("refund", "", steps.RefundSpec),
    ("A branch", "Its sides have the same kinds of steps as the script that it is in.", steps.PayInBranch),
    ("when", "All keys that are given must hold when the step is due.", steps.When),
    ("A moment", "Exactly one of the two.", steps.Moment),
    ("A repetition", "It has the same kinds of steps as the script that it is in.", steps.PayInRepeat),
    (
        "A wait for the payer",
        "Only in a pay-in's script. The payer's page, the control API or the Python handle says what the payer does.",
        steps.AwaitPayer,
    ),
    ("match", "At least one key; all that are given must match the deposit request.", matching.Match),
    ("match.payment_method", "", matching.MethodMatch),
    ("match.customer", "", matching.CustomerMatch),
    ("A choice of numbers", "In place of an exact number; exactly one of the two.", matching.NumberChoice),
    ("A choice of texts", "In place of a single text.", matching.TextChoice),
    ("deposit", "Every key has a default that works.", play.Deposit),
    ("deposit.payment_method", "", play.DepositMethod),
    ("deposit.customer", "", play.DepositCustomer),
    ("An action of the merchant", "`after` and exactly one of the others.", play.Action),
    ("A refund request", "", play.RefundWish),
    ("An action of the payer", "", play.PayerAction),
    ("An expected event", "If the type is not enough.", play.ExpectedEvent),
    ("A case", "", play.Case),
)
# Descriptions of keys without a docstring in the source, where the name is enough.
TEXTS: Final[Mapping[tuple[str, str], str]] = MappingProxyType(
    {
        ("FailureSpec", "code"): "A short code for programs.",
        ("FailureSpec", "message"): "A sentence for people.",
        ("OpenDispute", "dispute"): "The dispute; `{}` for the whole amount.",
        ("DisputeSpec", "reason"): "The reason given by the payer's bank.",
        ("OpenRefund", "refund"): "The refund; `{}` for the whole remaining amount.",
        ("RefundSpec", "reason"): "The reason, shown in the refund.",
        ("PayInBranch", "then"): "Steps to take when it holds.",
        ("PayInBranch", "otherwise"): "Steps to take when it does not.",
        ("PayInRepeat", "steps"): "The steps to repeat.",
        ("Moment", "before"): "Requested before the first event of this type.",
        ("Moment", "after"): "Requested after an event of this type.",
        ("Match", "amount"): "The amount.",
        ("Match", "currency"): "The currency, such as `EUR`.",
        ("Match", "country"): "The country, such as `DE`.",
        ("Match", "external_identifier"): "The merchant's order.",
        ("Match", "payment_method"): "How the payer pays.",
        ("Match", "customer"): "The payer.",
        ("Match", "metadata"): "Members of the metadata, by name.",
        ("MethodMatch", "type"): "Such as `CREDIT_CARD`.",
        ("MethodMatch", "code"): "Such as `card`; only of a request that names one.",
        ("CustomerMatch", "first_name"): "First name.",
        ("CustomerMatch", "last_name"): "Last name.",
        ("CustomerMatch", "email"): "E-mail address.",
        ("NumberChoice", "one_of"): "Any of these.",
        ("NumberChoice", "between"): "The lowest and the highest.",
        ("TextChoice", "one_of"): "Any of these.",
        ("Deposit", "currency"): "The currency.",
        ("Deposit", "country"): "The payer's country; some methods are offered in a few only.",
        ("Deposit", "external_identifier"): "The merchant's order; generated when absent.",
        ("Deposit", "payment_method"): "How the payer pays; a credit card when absent.",
        ("Deposit", "customer"): "The payer.",
        ("Deposit", "expires_in"): "Seconds until an unpaid pay-in expires; a day when absent.",
        ("Deposit", "metadata"): "Metadata of the merchant.",
        ("DepositMethod", "type"): "As the available payment methods list it.",
        ("DepositMethod", "code"): "Which of a type; the first that fits when absent.",
        ("DepositCustomer", "first_name"): "First name.",
        ("DepositCustomer", "last_name"): "Last name.",
        ("DepositCustomer", "email"): "E-mail address.",
        ("RefundWish", "amount"): "The amount; the rest when absent.",
        ("RefundWish", "reason"): "The reason.",
        ("ExpectedEvent", "event"): "The type.",
        ("Case", "name"): "A name for what the merchant does differently.",
        ("Case", "merchant"): "The merchant's actions.",
        ("Case", "answers"): "The answers that its calls get.",
        ("Case", "expect"): "The events that a receiver that always answers 200 gets, in order.",
    }
)


def keys_of(model: type[BaseModel]) -> dict[str, str]:
    """Return the description of each key of a model; KeyError for a key without one."""
    docs = schema.attribute_docs(model)
    return {
        field.alias or name: " ".join((docs.get(name) or TEXTS[model.__name__, name]).split())
        for name, field in model.model_fields.items()
    }
