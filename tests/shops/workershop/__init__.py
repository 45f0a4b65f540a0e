"""A shop on plain WSGI and http.client: everything slow is a job in a table, and a worker does it."""
