"""Tests of mdactors.api."""
