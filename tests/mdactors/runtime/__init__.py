"""What makes cores live, in virtual time where time matters."""
