"""OpenMM."""
