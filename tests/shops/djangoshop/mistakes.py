"""What this shop can get wrong: the name of each mistake, and what it does and whose story it resembles."""

MISTAKES = {
    "job_outside_the_transaction": "the charge is committed before its job is, and a crash between them leaves it unsent "
    "(saleor/saleor#10851)",
    "no_lease": "a job that died while running is never taken up again (tutur3u/platform#4603)",
    "key_made_by_the_job": "the key is made when the job runs, so that each run has another (medusajs/medusa#16681)",
    "gives_up_as_failed": "after five runs without an answer the charge is a failure, and the customer pays again (engineering "
    "judgement)",
    "rate_limit_is_a_failure": "a 429 on a retry fails the charge though the first request may have been executed (engineering "
    "judgement)",
    "retries_at_once": "a job that met a 429 is due again at once (octokit/plugin-throttling.js#635)",
    "charge_per_click": "the view does not ask whether a charge is under way (akash-network/console#3449)",
    "refund_row_deleted": "a refund without an answer is deleted, and the next wish is a new refund (medusajs/medusa#16681)",
    "refund_without_amount": "the refund request leaves the amount out, which gives back all that is left (nopSolutions/nopCommerce#1708)",
    "refund_done_when_accepted": "a refund is done when the request is accepted; its failure is not heard "
    "(Automattic/woocommerce-payments#2285)",
    "refund_failure_means_paid": "a failed refund sets the order to paid though another part was given back (engineering judgement)",
    "paid_event_sets_paid": "pay-in.succeeded sets the order to paid, also after a refund or a chargeback (mollie/WooCommerce#1252)",
    "cancelled_event_cancels": "pay-in.cancelled cancels an order whatever it is (mollie/WooCommerce#668)",
    "ledger_line_per_event": "each refund.succeeded writes a line, and the same fact may come under two ids (engineering judgement)",
    "debit_when_disputed": "the money leaves the books when a dispute opens and does not come back when it is won "
    "(elizaOS/eliza#10997)",
    "lost_stays_lost": "an order that was charged back stays so when the decision is reversed (Automattic/woocommerce-payments#4931)",
    "ship_job_per_fact": "a webhook of a payment that a poll has found queues a second ship job (pretix/pretix#1166)",
    "shipped_then_noted": "the parcel is sent in one transaction and noted in the next, so a crash sends it again (engineering "
    "judgement)",
    "matched_by_customer": "an event is matched with the newest order of the customer's e-mail (engineering judgement)",
    "stored_before_verified": "an event is stored with its job before its signature is checked (dj-stripe/dj-stripe, engineering "
    "judgement)",
    "signature_optional": "a delivery without the header is taken, as on a developer's machine (engineering judgement)",
    "first_characters_compared": "eight characters of the digest are compared (engineering judgement)",
    "csrf_protected": "the view lacks csrf_exempt, so every delivery gets 403 (a question asked in every Django forum)",
    "bad_json_is_a_500": "a signed body that is not JSON ends in a traceback (engineering judgement)",
}
