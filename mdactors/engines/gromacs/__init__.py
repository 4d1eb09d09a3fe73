"""GROMACS."""
