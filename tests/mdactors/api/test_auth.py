"""Who may ask over TCP."""

from __future__ import annotations

import pytest
from litestar.testing import TestClient

from mdactors.api.app import create_app
from tests.mdactors.api.world import World


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "secret"}, {"Authorization": "Basic secret"}]
)
def test_without_the_token_only_health_answers(world: World, headers: dict[str, str]) -> None:
    with TestClient(create_app(world, token="secret")) as api:
        for path in ("/v1/status", "/v1/jobs", "/v1/events", "/metrics", "/schema/openapi.json"):
            answer = api.get(path, headers=headers)
            assert answer.status_code == 401, path
            assert answer.json()["error"] == "not-authorized"
            assert answer.headers["www-authenticate"] == "Bearer"
        assert api.get("/health", headers=headers).status_code == 200


def test_with_the_token_everything_answers(world: World) -> None:
    with TestClient(create_app(world, token="secret")) as api:
        assert api.get("/v1/status", headers={"Authorization": "Bearer secret"}).status_code == 200
