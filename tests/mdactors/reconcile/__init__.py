"""Tests of the arithmetic by which numbers are compared."""
