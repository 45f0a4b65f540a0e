"""A shop of Flask, SQLAlchemy and requests."""
