"""Checks of a request before its operation: credentials, idempotency key, rate limit."""
