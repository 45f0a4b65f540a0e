"""A shop that is event-sourced: facts are appended, orders are folded from them, and a report settles each day."""
