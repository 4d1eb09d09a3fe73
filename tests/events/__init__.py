"""The language: every word of it, its one codec, and how old words are read."""
