"""The token for TCP."""

from __future__ import annotations

from pathlib import Path

import pytest

from mdactors.api.tokens import load_token
from mdactors.errors import ConfigError


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
