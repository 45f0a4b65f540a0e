"""Webhooks: their signatures, and what becomes of each delivery."""
