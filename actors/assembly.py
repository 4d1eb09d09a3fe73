"""The composition root: builds a platform, real by default, every part replaceable; it alone reads `os.environ`.

Nothing heavy is imported at the top: `main` serves the command line, and most commands are clients of a running
platform that need none of it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from events.platform import Mode
    from mdactors.config import Config
    from mdactors.ports import Clock, Engine, Journal, Substrate
    from mdactors.runtime.platform import Platform
    from mdactors.runtime.workshop import Offload


def main() -> int:
    """Run one command line; the entry point of `run.py` and `mdctl`."""
    from mdactors.cli.main import main as run_command_line  # noqa: PLC0415 - see above

    return run_command_line(sys.argv[1:], environ=os.environ, assemble=assemble)  # noqa: TID251 - read here, and only here


@asynccontextmanager
async def assemble(
    config: Config,
    *,
    clock: Clock | None = None,
    journal: Journal | None = None,
    substrate: Substrate | None = None,
    engines: Sequence[Engine] | None = None,
    base_env: Mapping[str, str] | None = None,
    offload: Offload[Any] | None = None,
    mode: Mode = "work",
    api: bool | None = None,
    warm: bool = False,
) -> AsyncIterator[Platform]:
    """Run a platform for the length of the block.

    Inside: the journal is replayed, what runs is adopted, the actors live, and the API answers. Afterwards it has
    stopped in good order; engines go on.

    Args:
        config: settings and state folder.
        clock: time; the machine's by default.
        journal: the event log; the state folder's by default.
        substrate: what starts processes; this machine by default.
        engines: how jobs run; all installed ones by default.
        base_env: the environment that children are given a selection of; our own by default.
        offload: runs blocking code; in a thread by default.
        mode: what it does; see `events.platform.Mode`.
        api: serve HTTP; in mode `work` by default.
        warm: import what serves HTTP at once, beside the first jobs, and not only when somebody asks something.

    Raises:
        StateBusyError: another platform holds the state folder.
        ConfigError: the state folder or a setting can't be used, the address and the slots among them.
        JournalError: the event log can't be read.
    """
    from actors.building import Building  # noqa: PLC0415 - see above
    from mdactors.runtime.workshop import in_thread  # noqa: PLC0415

    building = Building(
        config=config,
        base_env=dict(os.environ if base_env is None else base_env),  # noqa: TID251 - read here, and only here
        clock=clock,
        offload=offload or in_thread,
    )
    async with AsyncExitStack() as stack:
        serves = mode == "work" if api is None else api
        await building.open(stack, journal=journal, substrate=substrate, engines=engines, api=serves)
        async with building.living(mode=mode, api=serves, warm=warm) as platform:
            yield platform
