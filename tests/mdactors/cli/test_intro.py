"""What a newcomer reads."""

from __future__ import annotations

from pathlib import Path

from tests.mdactors.cli.conftest import Mdctl


def test_ten_lines_where_nothing_ever_ran(mdctl: Mdctl, tmp_path: Path) -> None:
    for argv in ([], ["--state", str(tmp_path / "new")], [f"--state={tmp_path / 'new'}"]):
        code, out, err = mdctl(*argv)
        assert (code, err) == (0, "")
        assert len(out.splitlines()) <= 10
        assert all(verb in out for verb in ("submit", "serve", "status", "caps", "tail"))


def test_a_state_folder_with_something_in_it_is_no_place_for_an_introduction(mdctl: Mdctl, state: Path) -> None:
    (state / "journal.sqlite").touch()
    code, out, err = mdctl()
    assert (code, out) == (1, "")
    assert "can't be read" in err


def test_what_is_no_folder_is_no_place_for_an_introduction(mdctl: Mdctl, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, out, err = mdctl("--state", str(tmp_path / "file"))
    assert (code, out) == (1, "")
    assert err.startswith(f"error: no platform is running on {tmp_path}/file")
