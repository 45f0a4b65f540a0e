"""Pay-ins, refunds, disputes, payouts and transactions: their states, their rules and their events."""
