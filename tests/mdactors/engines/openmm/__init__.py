"""Tests of the OpenMM adapter."""
