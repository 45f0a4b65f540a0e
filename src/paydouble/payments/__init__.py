"""Pay-ins, refunds, disputes, payouts and transactions: their lives, their rules and the events they give off."""
