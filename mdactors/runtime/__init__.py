"""What makes cores live: actors, bus, supervisor, clock, journal."""
