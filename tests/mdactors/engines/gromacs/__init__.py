"""Tests of the GROMACS adapter."""
