"""Comparing numbers: arithmetic on arrays."""
