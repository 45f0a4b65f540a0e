"""A shop of FastAPI, asynchronous httpx and plain sqlite3."""
