"""A shop on Starlette, httpx and asynchronous SQLAlchemy, which works on webhooks in the request."""
