"""Tests of the archive: files of what was measured."""
