"""What a developer of this style gets wrong: each with the harm in this shop, and where it was seen."""

MISTAKES = {
    "key_per_send": "The HTTP layer makes an idempotency key for each request it sends, so a retry after a lost reply charges twice. github.com/square/square-mcp-server/issues/31",
    "key_per_click": "Each press of the button begins a new attempt with a new key while the outcome of the last one is unknown; the customer is charged twice. github.com/akash-network/console/pull/3449",
    "volatile_body": "The body is built anew for each click and holds the time, under the same key: the service answers 409, and the customer who tries again cannot pay. github.com/Adyen/adyen-commercetools/issues/1305",
    "timeout_is_failure": "A deposit without an answer is taken for declined, and the next click makes a second one. github.com/bcgov/entity/issues/32832",
    "retries_without_pause": "Retries follow each other without a pause, against the contract's backoff; a short outage uses up all five, and the sale is lost. github.com/koala73/worldmonitor/issues/8294",
    "reset_as_seconds": "X-RateLimit-Reset is slept as a number of seconds; where it is an epoch the checkout hangs for decades and the order is lost. github.com/openclaw/clawhub/issues/407",
    "signature_over_parsed": "The signature is computed over re-serialised JSON; 49.90 becomes 49.9 and genuine webhooks are refused, so nothing is fulfilled until a job asks. github.com/ctrlplanedev/ctrlplane/pull/852",
    "unsigned_accepted": "A webhook without a signature header is accepted; anyone can have goods for nothing. github.com/nandinigoyaldev/Open-Source-Contribution-Atelier/pull/1952",
    "ack_before_store": "A webhook is acknowledged and handled in a task that is stored nowhere; when the process ends, the paid order is not fulfilled. github.com/rmyndharis/OpenWA/pull/1402",
    "marked_before_done": "An event is marked as handled before it is; when handling fails, its retry is taken for a duplicate and the payment stays unknown. github.com/AI-Shipping-Labs/website/issues/285",
    "stale_save": "The reply to the deposit is saved over what webhooks have said meanwhile; a paid order is pending again. github.com/duncanmcclean/statamic-cargo/pull/195",
    "refund_key_per_order": "The key of a refund is derived from the order alone, so a second partial refund is a replay of the first or a conflict; the customer never gets it. github.com/anolilab/lunora/pull/435",
    "refund_done_on_accept": "A refund counts as done when it is accepted; one that fails later leaves the customer without money and the shop unaware. github.com/woocommerce/woocommerce-gateway-stripe/issues/4405",
    "dispute_closed_ignored": "The end of a dispute is not handled; money that was charged back is still in the books. github.com/woocommerce/woocommerce-gateway-stripe/issues/1098",
    "float_cents": "The amount goes through a float and is cut off to cents: 8.20 is charged as 8.19. github.com/Automattic/woocommerce-payments/pull/91",
    "late_money_ignored": "A success after a cancellation is ignored as impossible; the customer has paid and gets nothing. github.com/coreshop/CoreShop/issues/2529",
}
