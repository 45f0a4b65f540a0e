"""The mistakes that can be switched on, one at a time.

`MISTAKES` says of each name what the code then does and what harm it does, `COURSES` in which course
of events the harm is done.
"""

MISTAKES = {
    # keys
    "key_from_order": (
        "The key of a deposit is derived from the order's id, so a second attempt gets the stored answer of the"
        " first one and the order can no longer be paid."
    ),
    "age_wraps": (
        "The age of a key is read from timedelta.seconds, which begins again each day, so a key that the service"
        " has forgotten is used again and the customer is charged or refunded twice."
    ),
    # lost replies, retries, timeouts
    "raw_errors_refuse": (
        "Only URLError counts as a lost reply, and what breaks after the request was sent is no URLError and"
        " closes the request, so the next click makes a second deposit."
    ),
    "refusal_forgets_lost": (
        "A refusal closes a request although an earlier send of it has no answer, so the deposit that was made"
        " is forgotten and the next click makes another."
    ),
    "resend_stops_at_first": (
        "The job that sends requests again ends at the first one that fails, so one request that always fails"
        " keeps the later ones of other orders from being sent."
    ),
    # 429
    "reset_is_seconds": (
        "X-RateLimit-Reset is always taken as seconds from now, so a Unix time there puts the next try off by"
        " decades and the order stays pending."
    ),
    "null_next_try": (
        "A 429 without headers leaves the time of the next try NULL, which no comparison in SQL finds, so no job"
        " sends the request again and the order stays pending."
    ),
    # webhooks: signature, time, duplicates, order
    "short_digest": (
        "The expected digest is cut to the length of the given one, so a signature of a few digits can be"
        " guessed and goods are shipped without money."
    ),
    "stale_event_refused": (
        "The tolerance of the signature is applied to the event's created_at as well, so each webhook that is"
        " sent again after five minutes is refused."
    ),
    "dedupe_type_object": (
        "Events are de-duplicated by type and resource instead of by id, so the second update of a dispute is"
        " dropped and its money is booked wrongly."
    ),
    "late_failure_wins": (
        "The status of an order follows the payment that changed last, so the end of an abandoned attempt"
        " cancels an order that is paid."
    ),
    "whole_seconds": (
        "States are compared by whole seconds and the later arrival wins a tie, so an older event of the same"
        " second undoes a newer one."
    ),
    # transactions and crashes
    "mail_in_transaction": (
        "The receipt is sent before the transaction is committed, so it goes out again when the commit fails"
        " and the webhook is repeated."
    ),
    "ship_on_transition": (
        "Goods are shipped in a second transaction and only when the status changes to paid, so an order whose"
        " process dies in between is paid and never shipped."
    ),
    # reconciliation and lists
    "missing_means_dead": (
        "A request whose resource the service does not list is closed at once, though the list may be behind,"
        " so the next click or refund is made twice."
    ),
    "sweep_stops_at_known": (
        "Reconciliation stops at the first page without news, so a payment on a later page whose webhook was"
        " lost is never found."
    ),
    "sweep_skips_closed": (
        "Reconciliation leaves out orders that have failed or were cancelled, so money that arrives late for"
        " them is kept without goods."
    ),
    # refunds
    "refund_row_deleted": (
        "A refund without an answer is deleted so that the staff can try again, and the next try has a new key,"
        " so the customer is refunded twice."
    ),
    "rest_by_omission": (
        "A refund of all that is left is sent without an amount, so it takes the service's rest, which is larger"
        " than the shop's while a dispute is open or a failed refund is not known."
    ),
    # disputes
    "accepted_forgotten": ("A dispute that was accepted is not counted as lost, so the books hold money that is gone."),
    "dispute_full_amount": (
        "A dispute takes off the whole payment whatever its amount is, so the books lack money that is there."
    ),
    # money
    "kwd_two_digits": (
        "Currencies with three digits are handled with two, so the customer pays another amount than the price."
    ),
    # two things at a time
    "click_not_locked": (
        "The click looks for an open payment before its transaction begins, so two clicks at the same time make"
        " two deposits."
    ),
    "return_overwrites": (
        "The page after the payment stores what it has read even when the shop knows newer, so a webhook that"
        " came in between is undone."
    ),
}

COURSES = {
    "key_from_order": "A card is declined, and the customer tries again within 24 hours.",
    "age_wraps": "A reply is lost, no request gets through for a day, and a job or a click sends again at 25 hours.",
    "raw_errors_refuse": "The service makes the deposit, its answer is cut or too slow, and the customer clicks again.",
    "refusal_forgets_lost": "A reply is lost after the deposit was made, the next try gets a 401 or 403, and the"
    " customer clicks again.",
    "resend_stops_at_first": "One order's request gets a 500 each time while a later order's request was lost and its"
    " customer does not come back.",
    "reset_is_seconds": "The click gets a 429 whose X-RateLimit-Reset is a Unix time, and the customer goes away.",
    "null_next_try": "The click gets only 429s without rate-limit headers, and the customer goes away.",
    "short_digest": "Somebody posts a forged pay-in.succeeded with the first digits of a digest, or one digit by trial.",
    "stale_event_refused": "The shop is down for ten minutes, and the webhooks of that time come again afterwards:"
    " paid orders wait for the next reconciliation.",
    "dedupe_type_object": "A dispute is won, opened again, and then lost: the second dispute.closed is dropped, until"
    " the next reconciliation, or for good after 90 days.",
    "late_failure_wins": "A customer gives up an attempt, pays with a second one, and later the first one expires.",
    "whole_seconds": "pay-in.processing and pay-in.succeeded are of one second and come in reverse order: the order is"
    " open again until the next reconciliation.",
    "mail_in_transaction": "The commit fails, or the process dies just before it, and the webhook is sent again.",
    "ship_on_transition": "The process dies between the commit of the status and the shipment.",
    "missing_means_dead": "A reply is lost after the commit, the job's first resend gets no answer, the list is behind,"
    " and the customer clicks again.",
    "sweep_stops_at_known": "The webhooks of an older order are lost, and a full page of newer pay-ins has no news.",
    "sweep_skips_closed": "A payment expires, the money arrives afterwards, and the webhook of it is lost.",
    "refund_row_deleted": "The service makes the refund, every reply is lost, and the staff request it again.",
    "rest_by_omission": "A customer disputes half of a payment, and the other half is refunded meanwhile; or a first"
    " refund fails, its webhook has not come, and only the second half is to be refunded.",
    "accepted_forgotten": "The business accepts a dispute in the dashboard.",
    "dispute_full_amount": "A customer disputes half of a payment and wins.",
    "kwd_two_digits": "An order is placed for 12.345 KWD.",
    "click_not_locked": "The customer double-clicks, and both requests are handled at the same time.",
    "return_overwrites": "The customer comes back while the payment is processing, and pay-in.succeeded is handled"
    " between the shop's question and its answer: the paid order is open again until the next reconciliation.",
}
