"""The pure half of every actor, and the read model: no clock, no I/O, no randomness of their own."""
