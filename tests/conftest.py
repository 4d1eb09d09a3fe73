"""What every test has."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run asynchronous tests on the event loop that the platform runs on."""
    return "asyncio"
