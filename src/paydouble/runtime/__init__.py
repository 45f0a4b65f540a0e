"""The only place that awaits time or sends webhooks."""
