"""Faults on purpose, with real processes, real engines and real files."""
