"""The same tree again: a test file for each file of `mdactors`."""
