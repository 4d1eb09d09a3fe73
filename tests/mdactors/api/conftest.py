"""A populated platform in memory, and a test client for its API."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from litestar import Litestar
from litestar.testing import TestClient

from mdactors.api.app import create_app
from tests.mdactors.api.world import World, populated

Api = TestClient[Litestar]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return populated(tmp_path)


@pytest.fixture
def api(world: World) -> Iterator[Api]:
    with TestClient(create_app(world, token=None)) as client:
        yield client


@pytest.fixture
def ask(api: Api) -> Any:
    """Return the JSON of a successful GET."""

    def get(path: str, **query: object) -> Any:
        answer = api.get(path, params={name: str(value) for name, value in query.items()})
        assert answer.status_code == 200, answer.text
        return answer.json()

    return get
