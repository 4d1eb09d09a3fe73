"""One thin shell an actor, and the composition root."""
