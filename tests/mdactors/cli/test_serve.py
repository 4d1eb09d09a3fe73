"""`serve`: until a signal."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from mdactors.errors import StateBusyError
from mdactors.runtime.platform import Platform
from tests.mdactors.api.world import World
from tests.mdactors.cli.conftest import Assemble, Mdctl


def signalled(world: World, number: int) -> Assemble:
    @asynccontextmanager
    async def assemble(config: Any, **_: Any) -> AsyncIterator[Platform]:
        world.asked.append(("assemble", config.settings))
        os.kill(os.getpid(), number)
        yield world
        world.asked.append(("stopped",))

    return assemble


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_good_order(mdctl: Mdctl, world: World, number: signal.Signals) -> None:
    code, out, err = mdctl("serve", assemble=signalled(world, number))
    assert (code, out) == (0, "")
    assert err.splitlines() == [
        f"mdactors 0.1.0 on node: 2 slots, state folder {world.state}",
        f"{number.name}: stopping",
        "1 job under way: engines go on, the next `serve` adopts them",
    ]
    assert world.asked[-1] == ("stopped",)


def test_a_script_reads_when_it_is_ready(mdctl: Mdctl, world: World) -> None:
    out = mdctl("serve", "--json", assemble=signalled(world, signal.SIGTERM)).out
    assert json.loads(out) == {"version": "0.1.0", "node": "node", "state": str(world.state), "slots": 2}


def test_the_command_line_wins_over_the_file(mdctl: Mdctl, world: World, tmp_path: Path) -> None:
    (world.state / "mdactors.toml").write_text('listen = "127.0.0.1:1"\n[slots]\ncount = 7\nthreads = 1\n')
    argv = ("--listen", "127.0.0.1:2", "--slots", "3", "--token-file", str(tmp_path / "t"))
    mdctl("serve", *argv, assemble=signalled(world, signal.SIGTERM))
    settings = world.asked[0][1]
    assert (settings.listen, settings.token_file) == ("127.0.0.1:2", str(tmp_path / "t"))
    assert (settings.slots.count, settings.slots.threads) == (3, 1)


def test_a_wrong_number_of_slots_is_refused(mdctl: Mdctl) -> None:
    assert mdctl("serve", "--slots", "0").code == 2


def test_a_state_folder_that_is_taken(mdctl: Mdctl) -> None:
    @asynccontextmanager
    async def assemble(config: Any, **_: Any) -> AsyncIterator[Platform]:
        raise StateBusyError("pid 7 on node holds it since noon")
        yield

    assert mdctl("serve", assemble=assemble) == (1, "", "error: pid 7 on node holds it since noon\n")


class Starting(World):
    """Knows nothing of its hardware yet, and does not answer."""

    async def probed(self) -> None:
        await anyio.sleep_forever()


def test_a_signal_ends_it_before_it_answers(mdctl: Mdctl, state: Path) -> None:
    world = Starting(state)
    code, out, err = mdctl("serve", "--json", assemble=signalled(world, signal.SIGTERM))
    assert (code, out, err) == (0, "", "SIGTERM: stopping\n")
    assert world.asked[-1] == ("stopped",)
