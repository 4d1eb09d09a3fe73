"""The whole platform in virtual time: simulated hardware and engines, crashes at every point, invariants after each recovery."""
