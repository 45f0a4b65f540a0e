"""What this shop can get wrong: the name of each mistake, and what it does and whose story it resembles."""

MISTAKES = {
    "key_in_memory": "the key of an attempt is kept in the process and is another one after a restart (post-mortem: keys in a "
    "local cache)",
    "key_from_the_cart": "the key is a hash of amount and currency, so that equal carts share it (post-mortem: one key for "
    "several requests)",
    "conflict_is_success": "a 409 is taken to mean that the order was paid already (engineering judgement)",
    "retries_for_ever": "a transient error is tried again without an end (woocommerce/woocommerce-paypal-payments#4606)",
    "timeout_gets_a_new_key": "a read timeout is followed by an attempt under a new key (medusajs/medusa#16292)",
    "reset_in_milliseconds": "X-RateLimit-Reset is divided by a thousand whatever it is, so nobody waits "
    "(pubg/api-documentation-content#61)",
    "cut_reply_is_a_failure": "a 200 that cannot be parsed is a failed payment, and the next click pays again (engineering judgement)",
    "two_digits_for_all": "every currency has two digits, so the third digit of a dinar is not charged (frappe/books#1449)",
    "polls_one_page_of_all": "reconciliation reads the ten newest pay-ins of the business and looks no further (alphagov/pay-toolbox#158)",
    "polls_open_orders_only": "a paid order is never asked about again, so a missed dispute or refund stays missed "
    "(engineering judgement)",
    "v0_accepted": "a digest under any scheme of the header counts, v0 too (engineering judgement)",
    "tolerance_in_milliseconds": "the age in seconds is compared with 300 000 (flippercloud/flipper#1022)",
    "body_read_as_latin1": "the body is decoded with one encoding and signed over another (octokit/webhooks.js#1155)",
    "same_type_same_payment": "facts are told apart by event type and payment, so the second refund is a duplicate "
    "(engineering judgement)",
    "done_before_it_is_done": "a fact is marked as processed before it is applied (webrenew/unicon#42)",
    "poison_is_swallowed": "a fact whose handler raised is marked as processed (mollie/magento2#142)",
    "queue_in_memory": "what was acknowledged waits in a list of the process, which a restart empties (fastapi BackgroundTasks: "
    "sdageltc/letitloop#93)",
    "last_arrival_wins": "the newest fact to arrive sets the status, whatever its time (laravel/cashier-paddle#313)",
    "refunded_is_overwritten": "the amount refunded is that of the last refund instead of the sum (nopSolutions/nopCommerce#740)",
    "failed_refund_wipes_all": "a refund that fails resets what others have given back (engineering judgement)",
    "one_refund_key_per_order": "all refunds of an order share a key, so the second is a replay or a conflict "
    "(Adyen/adyen-shopware6#248)",
    "late_payment_ignored": "money for a cancelled or failed pay-in is not seen (mollie/PrestaShop#394)",
    "amount_not_compared": "whatever amount came, the order is paid (engineering judgement)",
    "return_page_fulfils": "the page after the payment fulfils, and so does the webhook (pretix/pretix#1166)",
    "accepted_is_not_lost": "a dispute that was accepted does not count as money lost (engineering judgement)",
}
