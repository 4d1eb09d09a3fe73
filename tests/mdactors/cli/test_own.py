"""A platform of our own, and the settings it gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mdactors.api.world import World
from tests.mdactors.cli.conftest import Mdctl, assembling


@pytest.mark.parametrize("named", [False, True])
def test_settings_come_from_the_named_file_or_from_the_state_folder(
    mdctl: Mdctl, world: World, tmp_path: Path, named: bool
) -> None:
    (world.state / "mdactors.toml").write_text('node = "usual"\n')
    (tmp_path / "mine.toml").write_text('node = "mine"\n')
    mdctl("caps", *(("--config", str(tmp_path / "mine.toml")) if named else ()), assemble=assembling(world))
    assert world.asked[0][1].node == ("mine" if named else "usual")


def test_an_unknown_setting_is_refused(mdctl: Mdctl, world: World) -> None:
    (world.state / "mdactors.toml").write_text("nodes = 3\n")
    code, _, err = mdctl("caps", assemble=assembling(world))
    assert code == 2
    assert "nodes" in err
