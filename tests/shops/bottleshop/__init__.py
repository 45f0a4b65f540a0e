"""A shop on Bottle, peewee and urllib3: a service layer, an outbox of requests, and a worker."""
