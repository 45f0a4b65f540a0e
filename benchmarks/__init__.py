"""What paydouble costs, beside the least that the same job could cost (docs/performance.md)."""
