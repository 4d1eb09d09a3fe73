"""Tests of the substrates."""
