"""What all shells have in common, and who they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.negotiator import Negotiator
from actors.scheduler import Scheduler
from actors.shell import PureShell
from mdactors.core.effects import Look
from mdactors.core.negotiation import NegotiatorCore
from mdactors.core.scheduling import SchedulerCore
from mdactors.runtime.actor import Shell
from tests.actors.kit import stage


async def test_a_pure_shell_performs_nothing(tmp_path: Path) -> None:
    async with stage(tmp_path) as it:
        with pytest.raises(AssertionError, match=r"PureShell can't perform Look\(cause=1\)"):
            await PureShell().perform(Look(1), it.tasks)
        PureShell().attend(it.tasks)


@pytest.mark.parametrize(("shell", "core"), [(Negotiator(), NegotiatorCore), (Scheduler(), SchedulerCore)])
def test_each_life_has_a_fresh_core(shell: Shell, core: type) -> None:
    first, second = shell.core(), shell.core()
    assert type(first) is type(second) is core
    assert first is not second


def test_a_scheduler_that_settles_makes_cores_that_settle() -> None:
    assert Scheduler().core().assigns
    assert not Scheduler(assigns=False).core().assigns
