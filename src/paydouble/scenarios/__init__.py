"""Lives of payments as small YAML files."""
