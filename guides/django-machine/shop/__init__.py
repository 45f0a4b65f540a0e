"""The shop, a Django app."""
