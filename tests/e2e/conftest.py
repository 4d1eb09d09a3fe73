"""Desks: one for each test, or one that a module's tests share because they only read."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.kit import Desk


@pytest.fixture
def desk() -> Iterator[Desk]:
    with tempfile.TemporaryDirectory(prefix="md") as folder:  # short: a Unix socket's name has 107 bytes
        mine = Desk(Path(folder))
        yield mine
        mine.clear()
