"""Each journal's own; what they have in common is in tests/contracts."""
