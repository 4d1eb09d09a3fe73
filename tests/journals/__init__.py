"""An event log of every released version, replayed for ever."""
