"""Tests of mdactors.api.routes."""
