"""The service's synchronous API: one operations table, and a pipeline from request to reply."""
