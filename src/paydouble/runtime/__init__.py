"""The only package that waits for time to pass or sends webhooks."""
