"""Tests of mdactors.views."""
