"""A shop on Tornado, sqlite3 and httpx, whose orders are derived from a log of facts."""
