"""Tests of the local substrate, with real processes."""
