"""The checks on the way to an operation, one idea a module."""
