"""What this shop can get wrong: the name of each mistake, and what it does and whose story it resembles."""

MISTAKES = {
    "key_made_in_the_loop": "each attempt inside the retry loop gets its own key (stripe/stripe-php#637)",
    "key_made_per_click": "a click does not look for an attempt whose outcome is unknown (akash-network/console#3449)",
    "timeout_is_a_failure": "a timeout or reset marks the attempt as failed, and the next click pays again (post-mortem: "
    "a two-second client timeout)",
    "server_error_is_a_decline": "a 5xx marks the attempt as failed though it may have been executed (engineering judgement)",
    "expects_success_member": "reads `success` of every answer and so crashes on the other error envelope (engineering judgement)",
    "hammers_on_429": "a 429 is retried at once, without waiting for the reset (octokit/plugin-throttling.js#635)",
    "reset_is_a_delay": "sleeps for the number in X-RateLimit-Reset, an epoch (zalando/riptide#632, mozilla/fxa#3920)",
    "body_holds_the_attempt": "metadata names the attempt, so that the body drifts under one key (stripe/stripe-java#389)",
    "cents_through_float": "int(float(amount) * 100) loses a cent of some amounts (magento/magento2#24233)",
    "old_key_sent_again": "an attempt of unknown outcome is resent under a key that has expired (engineering judgement)",
    "reply_overwrites_webhook": "the reply to the creation sets the status though a webhook has told more "
    "(woocommerce/woocommerce-gateway-stripe#2536)",
    "poll_regresses": "reconciliation believes a stale read over what is known (engineering judgement)",
    "polls_the_newest_only": "reconciliation looks at the newest pay-in of an order and misses late money on an older one "
    "(engineering judgement)",
    "no_timestamp_check": "the age of a signature is not looked at, so that it can be replayed (windmill-labs/windmill#8596)",
    "prefix_is_enough": "the digest is compared over the length of what was sent (engineering judgement)",
    "body_serialised_anew": "the signature is computed over parsed and dumped JSON (stripe/stripe-node#356)",
    "header_parser_crashes": "a header without `=` ends in a 500 (engineering judgement)",
    "refuses_unknown_types": "an event type that the shop does not use is answered with 400 (202-ecommerce/stripe_official#79)",
    "last_arrival_wins": "webhooks are applied in order of arrival (laravel/cashier-paddle#313)",
    "every_paid_event_ships": "pay-in.succeeded ships without asking whether that was done; a poll ships too (getdokan/dokan#2994)",
    "failed_attempt_fails_order": "pay-in.failed of an earlier attempt fails an order that a later one has paid "
    "(202-ecommerce/stripe_official#79)",
    "any_refund_is_full": "a refund of a part marks the whole order as refunded (mollie/PrestaShop#52)",
    "refund_key_per_click": "a refund that is wished for again gets a new key (medusajs/medusa#16681)",
    "late_refund_failure_ignored": "a refund that was accepted counts as done for good (solidusio/solidus_stripe#265)",
    "dispute_debits_twice": "money leaves the ledger when a dispute opens and again when it is lost (elizaOS/eliza#10997)",
    "won_is_final": "a dispute that was won is never looked at again, also when reopened (engineering judgement)",
}
