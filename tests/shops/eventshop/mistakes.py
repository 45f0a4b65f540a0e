"""What a developer of this style gets wrong: each with the harm in this shop, and where it was seen."""

MISTAKES = {
    "no_expected_version": "Facts are appended without looking at the order's version; two clicks each ask for a deposit with a key of its own, and both are charged. github.com/furthemore/APIS/pull/193",
    "fact_after_call": "The request becomes a fact only when it has been answered; after a lost reply or a crash its key is gone, and the next click charges again. github.com/stripe/ai/issues/402",
    "timeout_is_refusal": "A deposit without an answer is recorded as refused, and the next click makes another. github.com/gameserverapp/Platform/issues/1216",
    "limit_is_refusal": "429 is taken for a refusal like every other 4xx; when an earlier request of the same call got through, the next click charges again. The contract's section 7, read in haste.",
    "retries_refusals": "Whatever is not a success is sent five times, refusals as well, against the contract; a declined customer waits, and the outcome is booked as unknown. The contract's section 7, read in haste.",
    "deposit_by_job": "The settlement sends a deposit again, with a new key, when the service's list does not show it; a customer who has left is charged, or charged twice. github.com/harshaldhanewar/HackathonPS/issues/62",
    "fold_counts_twice": "The fold adds up every fact of a success; one that was told twice doubles the money of the order. github.com/PacktPublishing/Hands-On-Domain-Driven-Design-with-.NET-Core/issues/17",
    "fold_by_arrival": "The fold takes the last fact for the newest; a late `pending` or an old dispute event takes back what is known. github.com/solidusio/solidus_stripe/issues/160",
    "late_success_dropped": "A success after a failure or a cancellation is not folded in; the customer has paid and gets nothing. github.com/woocommerce/woocommerce/issues/20928",
    "amount_not_checked": "A success counts as paid whatever its amount; goods go out for less than they cost. github.com/juanarrietabusiness-pixel/tommalopty/issues/7",
    "duplicate_is_500": "The unique index on the event's id stops a duplicate with an exception; the receiver answers 500, and the service repeats it for three days. github.com/adeira/universe/pull/4993",
    "sandbox_unverified": "Events that say `livemode: false` are not verified; whoever writes that into a body can have goods for nothing. github.com/scalekit-inc/org-brain-workshop/issues/13",
    "last_v1_only": "Only the last signature of the header is compared; while a secret is rotated genuine webhooks are refused and payments stay unknown. github.com/adnanh/webhook/pull/355",
    "refund_counted_at_request": "A refund counts from the moment it is asked for, and stays counted when it fails; the customer has not got the money and the books say so. github.com/Automattic/woocommerce-payments/issues/2285",
    "refund_never_whole": "An order is refunded only by one refund of its whole amount; partial refunds that add up to it leave it partly refunded, and the books ask for more. github.com/nopSolutions/nopCommerce/issues/740",
    "dispute_whole_amount": "A lost dispute takes the whole amount from the books, also when it was about a part. github.com/Automattic/woocommerce-payments/issues/6196",
    "settlement_first_page": "The settlement reads the first page of each list; what is older is never reconciled. github.com/alphagov/pay-toolbox/pull/158",
    "settlement_recent_only": "The settlement looks at orders of the last day only; a payment whose webhooks were lost for longer is never found. github.com/DistinctCodes/ManageHub/pull/1424",
    "settlement_stale": "What the settlement has read holds against everything that webhooks tell afterwards; a paid order stays pending. github.com/ActiveCampaign/module-integration/issues/85",
}
