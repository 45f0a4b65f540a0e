"""The deterministic ground floor: time, timers, identifiers, draws, money, JSON text and errors."""
