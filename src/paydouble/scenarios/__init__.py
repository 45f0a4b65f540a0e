"""Lifecycles of payments as small YAML files."""
