"""Faults as values, and the table that decides which of them fires, and when."""
