"""The event log."""
