"""Things that go wrong on purpose: faults as values, and the table that decides which of them fires, and when."""
