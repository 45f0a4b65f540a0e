"""The commented file that `paydouble conformance init` writes, with what is usual for a framework filled in."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from paydouble.stateful.merchant import STATUSES
from paydouble.stateful.policies import POLICIES


class Framework(NamedTuple):
    """What is usual for shops of a framework."""

    port: int
    command: str
    health: str
    jobs: str
    """How its background jobs are run on demand, as a call of the driver."""


FRAMEWORKS: Final[Mapping[str, Framework]] = MappingProxyType(
    {
        "express": Framework(3000, "[node, server.js]", "/health", '{POST: "{at}/test/jobs"}'),
        "flask": Framework(5000, "[flask, run, --port, '5000']", "/health", "[flask, work-off-jobs]"),
        "django": Framework(
            8000, "[python, manage.py, runserver, --noreload, '8000']", "/health", "[python, manage.py, work_off_jobs]"
        ),
        "spring": Framework(8080, "[java, -jar, target/shop.jar]", "/actuator/health", '{POST: "{at}/test/jobs"}'),
        "rails": Framework(3000, "[bin/rails, server, -p, '3000']", "/up", "[bin/rails, jobs:work_off]"),
        "laravel": Framework(
            8000, "[php, artisan, serve, --port=8000]", "/up", "[php, artisan, queue:work, --stop-when-empty]"
        ),
        "go": Framework(8080, "[./shop]", "/healthz", '{POST: "{at}/test/jobs"}'),
    }
)
_ANY: Final = Framework(3000, "[./start-the-shop]", "/health", '{POST: "{at}/test/jobs"}')
_FILE: Final = """\
# How paydouble reaches your shop. Try it with: paydouble conformance doctor merchant.yaml
name: {name}

# Where your shop receives webhooks.
webhook: {{url: "{at}/webhooks/payments"}}

# reconciles: false                       # only if your shop never asks the service about a payment
# currencies: [EUR]                       # only if your shop does not sell in all
# order_of_deposit: "(.+)-[0-9]+"         # only if the external_identifier of a deposit has more than the order's id
# interleaves: false                      # only if your shop takes one request at a time, as `php -S` does by itself
# rotates_secrets: true                   # only if your shop accepts a header with two v1, as while a secret is rotated

# Your shop's promises where the contract is silent. `paydouble explore` finds where one that is in the list is broken,
# and allows for the others what stands beside them.
# demands:
{demands}

# How your shop is started, in the folder of this file, and told where the payment service is. Leave it out when your
# shop is running already. Processes that it starts are killed with it.
start:
  command: {command}
  environment:                            # the names are your shop's own
    PAYMENTS_URL: "{{base_url}}"            # ends with /api/v1; {{root_url}} is the same without it
    PAYMENTS_KEY: "{{business_key}}"
    PAYMENTS_SECRET: "{{business_secret}}"
    WEBHOOK_SECRET: "{{webhook_secret}}"
    # In place of {port} in this file, {{port}} is a free port, so that several runs do not meet; tell your shop:
    # PORT: "{{port}}"
    # DATABASE: "{{temporary_folder}}/shop.db"  # a folder of the run; where there is no reset, each play finds it empty
    # Much happens after a day only, so let your shop take the time from there, and sleep there.
    # CLOCK_URL: "{{clock_url}}"
  ready: GET {at}{health}

# How a test drives your shop: each call is an HTTP request, or a command such as [./script, "{{order}}"]. Most shops
# need a few routes that exist in tests alone.
driver:
  place_order:
    POST: {at}/test/orders
    json: {{id: "{{order}}", amount: "{{amount}}", currency: "{{currency}}"}}   # {{minor}} is the amount in minor units
    # id: /order/id                         # only if your shop makes the order's id: where it is in the answer
  # The customer's click on the pay button. Its deposit has the order's id as external_identifier (or see above).
  # Add `declined: [409]` if your shop declines with this status, as when all is sold.
  pay: {{POST: "{at}/test/orders/{{order}}/pay"}}
  order:
    GET: {at}/test/orders/{{order}}
    status: /status                       # where the status is in the answer, as a JSON pointer
    shipments: /shipped                   # how often the order was shipped; leave out what your shop does not count
    # balance: /balance                   # the money left of the order: paid, minus refunds and lost disputes
    # effects: {{mails: /mails}}            # what may happen once an order
    # needed_effects: [mails]             # those of effects that each paid order needs
    # Your words for a status → ours, such as {{COMPLETED: paid, disputed: review}}. Ours are:
    # {some}, {others}.
    words: {{}}
  # What follows is optional. What is missing is not tested.
  # reset: {{POST: "{at}/test/reset"}}    # an empty shop; without it your shop is started again for each play
  # refund: {{POST: "{at}/test/orders/{{order}}/refunds", json: {{id: "{{refund}}", amount: "{{amount}}"}}}}
  # cancel: {{POST: "{at}/test/orders/{{order}}/cancel"}}
  # customer_returns: {{GET: "{at}/orders/{{order}}/thanks"}}
  # tick: {jobs}
  # broken_rules: {{GET: "{at}/test/broken-rules"}}   # a list of texts, such as ["seat 12 has two tickets"]
  # drain: {{POST: "{at}/test/drain"}}    # for a shop that answers first and works then: answers when that is done
"""


def starting_file(name: str, framework: str | None) -> str:
    """Return the text of a merchant file to edit, for a framework of `FRAMEWORKS` or any."""
    found = _ANY if framework is None else FRAMEWORKS[framework]
    at = f"http://127.0.0.1:{found.port}"
    jobs = found.jobs.replace("{at}", at)
    some, others = ", ".join(STATUSES[:4]), ", ".join(STATUSES[4:])
    width = max(map(len, POLICIES)) + 2
    demands = "\n".join(f"#   - {policy:<{width}}# {what}" for policy, what in POLICIES.items())
    return _FILE.format(
        name=name,
        at=at,
        port=found.port,
        some=some,
        others=others,
        command=found.command,
        health=found.health,
        jobs=jobs,
        demands=demands,
    )
