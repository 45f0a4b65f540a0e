"""A shop without any framework: WSGI by hand, sqlite3 with SQL by hand, and urllib."""
