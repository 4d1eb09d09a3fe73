"""The token for TCP."""

from __future__ import annotations

from pathlib import Path

import pytest
from litestar.testing import TestClient

from mdactors.api.app import create_app
from mdactors.api.auth import load_token
from mdactors.errors import ConfigError
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


def test_a_token_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "token"
    token = load_token(path)
    assert len(token) > 30
    assert path.stat().st_mode & 0o777 == 0o600
    assert load_token(path) == token


def test_a_token_file_that_is_empty_or_out_of_reach_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    with pytest.raises(ConfigError, match="is empty"):
        load_token(empty)
    with pytest.raises(ConfigError, match="can't be made"):
        load_token(tmp_path / "no" / "where")
    with pytest.raises(ConfigError, match="can't be read"):
        load_token(tmp_path)
