"""One suite for each Protocol, run by every implementation."""
