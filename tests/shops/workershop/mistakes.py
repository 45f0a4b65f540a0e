"""What a developer of this style gets wrong: each with the harm in this shop, and where it was seen."""

MISTAKES = {
    "job_gone_before_done": "A job is deleted when it is taken; a worker that dies loses it, and an acknowledged payment is neither booked nor shipped. github.com/own-pay/OwnPay/issues/171",
    "lease_without_end": "A job stays locked by a worker that died; the event or deposit is never worked on again. github.com/QueueClassic/queue_classic/issues/165",
    "key_per_run": "The handler makes the idempotency key, so each run of the job is a new deposit and the customer is charged twice. github.com/harshaldhanewar/HackathonPS/issues/62",
    "key_outlives_day": "A payment of yesterday is sent again with its old key, which the service has forgotten: a second deposit, and two charges. github.com/square/connect-api-examples/issues/135",
    "retries_without_end": "A job is repeated until it succeeds, against the contract's five attempts; an outage is answered with endless requests, and a deposit is made days after the customer has left. github.com/graphile/worker/issues/254",
    "unknown_payin_404": "A webhook for something that is not in the database is answered with 404; the service repeats it for three days. github.com/202-ecommerce/stripe_official/issues/79",
    "webhook_first_dropped": "Events are matched by the pay-in's id, which is unknown until the reply is stored; one that comes first, or whose reply is lost, is acknowledged and dropped. github.com/duncanmcclean/statamic-cargo/issues/190",
    "mail_before_commit": "The confirmation is sent inside the transaction; when it is rolled back and done again, the customer gets two. github.com/mollie/magento2/issues/1047",
    "stock_sold_per_event": "Stock is reduced each time a success is learned, by the webhook and by the return page; the shop sells out of goods that it has. github.com/woocommerce/woocommerce/issues/24387",
    "stock_returned_twice": "Goods go back into stock with each refund that succeeds; two partial refunds make two pieces of one. github.com/woocommerce/woocommerce-gateway-stripe/issues/2598",
    "return_page_trusted": "A customer on the return page is taken to have paid; anyone can have goods for nothing. github.com/schmittjoh/JMSPaymentPaypalBundle/issues/95",
    "processing_is_paid": "A payment that is being verified counts as paid and is shipped; the goods are gone when it fails. github.com/Automattic/woocommerce-payments/issues/1565",
    "arrival_order": "The last event to arrive is the state; a late `pending` takes a paid order back. github.com/NEARBuilders/nearmerch.com/issues/209",
    "non_ascii_crash": "The signature is compared as text; one with an umlaut raises TypeError, so anyone can make the receiver answer 500. github.com/mishrasanjeev/grantex/pull/892",
    "no_timestamp_check": "The age of a signature is not checked; a recorded webhook can be played again at any time. github.com/flippercloud/flipper/pull/1022",
    "two_decimals": "Amounts are always written with two decimals; dinars, which have three, are rounded, so the customer pays another amount. github.com/woocommerce/woocommerce-gateway-amazon-pay/issues/148",
    "refund_without_amount": "A partial refund is sent without its amount, and everything is refunded. github.com/Inchoo/magento2-Inchoo_Stripe/issues/10",
    "refund_new_key": "Each run of a refund's job has a key of its own; a lost reply refunds twice. github.com/akira-io/laravel-sisp/pull/306",
    "conflict_new_key": "A conflict of keys is solved by a new key; the deposit that holds the old one is joined by a second. github.com/medusajs/medusa/issues/1887",
}
