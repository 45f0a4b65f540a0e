"""The keys of the scenario format, model by model, and what the page says of each; for `reference_scenarios.py`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pydantic import BaseModel

from paydouble.scenarios import matching, play, schema, steps
from paydouble.scenarios.model import Scenario

# A section's heading, the text above its table, and the model whose keys it lists. Branches and
# repetitions of refunds and disputes have the very keys of a pay-in's.
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
    ("A branch", "Its sides hold steps of the script that it stands in.", steps.PayInBranch),
    ("when", "All that is given must hold, in the moment in which the step is due.", steps.When),
    ("A moment", "Exactly one of the two.", steps.Moment),
    ("A repetition", "Its steps are those of the script that it stands in.", steps.PayInRepeat),
    ("match", "At least one key; all that are given must hold of the deposit request.", matching.Match),
    ("match.payment_method", "", matching.MethodMatch),
    ("match.customer", "", matching.CustomerMatch),
    ("A choice of numbers", "In place of an exact number; exactly one of the two.", matching.NumberChoice),
    ("A choice of texts", "In place of a single text.", matching.TextChoice),
    ("deposit", "What is left out has a value that works.", play.Deposit),
    ("deposit.payment_method", "", play.DepositMethod),
    ("deposit.customer", "", play.DepositCustomer),
    ("An action of the merchant", "`after` and exactly one of the others.", play.Action),
    ("A refund that is asked for", "", play.RefundWish),
    ("An expected event", "Where its type alone does not say enough.", play.ExpectedEvent),
    ("A case", "", play.Case),
)
# Keys that need no text in the source, where their name says it; the page says it all the same.
TEXTS: Final[Mapping[tuple[str, str], str]] = MappingProxyType(
    {
        ("FailureSpec", "code"): "A short code, as programs know it.",
        ("FailureSpec", "message"): "A sentence, as people read it.",
        ("OpenDispute", "dispute"): "What it is about; `{}` for the whole amount.",
        ("DisputeSpec", "reason"): "Why, as the payer's bank says it.",
        ("OpenRefund", "refund"): "What it is about; `{}` for all that is left.",
        ("RefundSpec", "reason"): "Why, as the refund shows it.",
        ("PayInBranch", "then"): "Steps to take when it holds.",
        ("PayInBranch", "otherwise"): "Steps to take when it does not.",
        ("PayInRepeat", "steps"): "What is repeated.",
        ("Moment", "before"): "Asked for while no event of this type had come.",
        ("Moment", "after"): "Asked for when an event of this type had come.",
        ("Match", "amount"): "The amount.",
        ("Match", "currency"): "The currency, such as `EUR`.",
        ("Match", "country"): "The country, such as `DE`.",
        ("Match", "external_identifier"): "The merchant's order.",
        ("Match", "payment_method"): "How the payer pays.",
        ("Match", "customer"): "Who pays.",
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
        ("Deposit", "external_identifier"): "The merchant's order; one is made up when absent.",
        ("Deposit", "payment_method"): "How the payer pays; a credit card when absent.",
        ("Deposit", "customer"): "Who pays.",
        ("Deposit", "expires_in"): "Seconds until an unpaid pay-in expires; a day when absent.",
        ("Deposit", "metadata"): "What the merchant notes with it.",
        ("DepositMethod", "type"): "As the available payment methods list it.",
        ("DepositMethod", "code"): "Which of a type; the first that fits when absent.",
        ("DepositCustomer", "first_name"): "First name.",
        ("DepositCustomer", "last_name"): "Last name.",
        ("DepositCustomer", "email"): "E-mail address.",
        ("RefundWish", "amount"): "How much; the rest when absent.",
        ("RefundWish", "reason"): "Why.",
        ("ExpectedEvent", "event"): "The type.",
        ("Case", "name"): "What the merchant does otherwise.",
        ("Case", "merchant"): "What the merchant does.",
        ("Case", "answers"): "What its calls get.",
        ("Case", "expect"): "What a receiver that always answers 200 gets, in order.",
    }
)


def keys_of(model: type[BaseModel]) -> dict[str, str]:
    """Return what the page says of each key of a model; KeyError for one that nothing is said of."""
    told = schema.attribute_docs(model)
    return {
        field.alias or name: " ".join((told.get(name) or TEXTS[model.__name__, name]).split())
        for name, field in model.model_fields.items()
    }
