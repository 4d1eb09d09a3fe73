"""Which state folder is meant."""

from __future__ import annotations

import os

import pytest

from mdactors.cli.context import state_folder


@pytest.mark.parametrize(
    ("given", "environ", "folder"),
    [
        ("/a", {"MDACTORS_STATE": "/b"}, "/a"),
        (None, {"MDACTORS_STATE": "/b", "XDG_STATE_HOME": "/c"}, "/b"),
        (None, {"XDG_STATE_HOME": "/c", "HOME": "/d"}, "/c/mdactors"),
        (None, {"HOME": "/d"}, "/d/.local/state/mdactors"),
        (None, {"MDACTORS_STATE": "", "HOME": "/d"}, "/d/.local/state/mdactors"),
    ],
)
def test_as_given_then_by_environment_then_the_users_own(
    given: str | None, environ: dict[str, str], folder: str
) -> None:
    assert state_folder(given, environ) == folder


def test_a_relative_folder_becomes_absolute() -> None:
    assert state_folder("here", {}) == os.path.join(os.getcwd(), "here")
