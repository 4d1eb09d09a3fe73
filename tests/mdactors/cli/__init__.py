"""Tests of mdactors.cli."""
