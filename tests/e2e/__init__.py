"""Real engines and real platform processes."""
