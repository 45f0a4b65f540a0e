"""The deterministic ground floor: time, timers, identifiers, randomness, money, JSON text and errors."""
