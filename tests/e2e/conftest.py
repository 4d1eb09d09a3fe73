"""Desks: one for each test, or one that a module's tests share because they only read."""

from __future__ import annotations

import signal
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


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_is_heard() -> None:
    """What is started in the background by a shell ignores Ctrl-C, and so would everything that it starts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
