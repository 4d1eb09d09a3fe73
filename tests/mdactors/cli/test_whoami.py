"""Who types."""

from __future__ import annotations

import os

import pytest

from mdactors.cli.whoami import login_name


def test_a_number_where_there_is_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert login_name()
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_001)
    assert login_name() == "4000000001"
