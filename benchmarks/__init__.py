"""Figures of mdactors beside those of other tools, measured in turn; run by hand, see README.md."""
