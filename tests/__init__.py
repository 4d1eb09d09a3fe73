"""The same tree again, tested."""
