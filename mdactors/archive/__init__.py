"""What was measured, kept as files."""
