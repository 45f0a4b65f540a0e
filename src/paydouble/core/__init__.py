"""The lowest layer, deterministic: time, timers, identifiers, randomness, money, JSON text and errors."""
