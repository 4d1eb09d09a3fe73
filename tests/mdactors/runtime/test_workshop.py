"""Derived inputs: complete or not at all, made once, and a clear word where they can't be made."""

from __future__ import annotations

import stat
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
import msgspec
import pytest

from mdactors.ports import Completed, Preparation
from mdactors.runtime.workshop import PreparationError, Workshop, in_thread

FATAL = """
Program:     gmx grompp, version 2022.5
Source file: src/gromacs/gmxpreprocess/topio.cpp (line 577)

Fatal error:
Syntax error - File forcefield.itp,
line 22

For more information and tips for troubleshooting, please check the GROMACS website
"""


class Tool:
    """A helper program: leaves `out` after a while, or ends as a test says."""

    def __init__(self, completed: Completed | None = None, *, makes: str = "out", seconds: float = 0.0) -> None:
        self.completed = completed or Completed(code=0, stdout=b"", stderr=b"")
        self.runs: list[tuple[tuple[str, ...], float, str]] = []
        self.under_way = anyio.Event()
        self.done = anyio.Event()
        self._makes = makes
        self._waits = bool(seconds)

    async def __call__(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        cwd: str | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> Completed:
        assert cwd
        self.runs.append((tuple(argv), timeout, cwd))
        self.under_way.set()
        if self._waits:
            Path(cwd, self._makes).write_text("half")
            await self.done.wait()
        if self._makes:
            Path(cwd, self._makes).write_text("whole")
        return self.completed


@pytest.fixture
def wanted(tmp_path: Path) -> Preparation:
    return Preparation(
        argv=("/usr/bin/gmx", "grompp", "-o", "out"),
        makes="out",
        product=str(tmp_path / "prepared" / "a.tpr"),
        what="gmx grompp",
        remedy="mend the topology",
    )


def left(wanted: Preparation) -> list[str]:
    folder = Path(wanted.product).parent
    return sorted(path.name for path in folder.iterdir())


async def test_a_product_is_moved_to_its_place_and_can_t_be_written(wanted: Preparation) -> None:
    tool = Tool()
    await Workshop(tool).make(wanted)
    assert Path(wanted.product).read_text() == "whole"
    assert stat.S_IMODE(Path(wanted.product).stat().st_mode) == 0o444
    assert left(wanted) == ["a.tpr"]
    assert tool.runs[0][:2] == (wanted.argv, 60.0)


async def test_what_is_there_is_not_made_again(wanted: Preparation) -> None:
    tool = Tool()
    for workshop in (Workshop(tool), Workshop(tool)):
        await workshop.make(wanted)
        await workshop.make(wanted)
    assert len(tool.runs) == 1


async def test_those_who_want_the_same_at_once_wait_for_one(wanted: Preparation) -> None:
    tool = Tool(seconds=1)
    workshop = Workshop(tool)
    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(workshop.make, wanted)
        await tool.under_way.wait()
        assert not Path(wanted.product).exists()
        tool.done.set()
    assert len(tool.runs) == 1
    assert Path(wanted.product).read_text() == "whole"


async def test_different_products_are_made_side_by_side(wanted: Preparation) -> None:
    tool = Tool(seconds=1)
    workshop = Workshop(tool)
    other = msgspec.structs.replace(wanted, product=wanted.product + "2")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(workshop.make, wanted)
        tasks.start_soon(workshop.make, other)
        await anyio.wait_all_tasks_blocked()
        assert len({cwd for _, _, cwd in tool.runs}) == 2
        tool.done.set()


async def test_giving_up_half_way_leaves_nothing_and_the_next_one_may_try(wanted: Preparation) -> None:
    workshop = Workshop(slow := Tool(seconds=1))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(workshop.make, wanted)
        await slow.under_way.wait()
        tasks.cancel_scope.cancel()
    assert left(wanted) == []
    slow.done.set()
    await workshop.make(wanted)
    assert left(wanted) == ["a.tpr"]


@pytest.mark.parametrize(
    ("completed", "code", "retry", "evidence"),
    [
        (
            Completed(code=1, stdout=b"", stderr=FATAL.encode()),
            "preparation-failed",
            "no",
            "Fatal error: Syntax error - File forcefield.itp, line 22",
        ),
        (
            Completed(
                code=1, stdout=b"ERROR 1 [file topol.top, line 7]:\n  No such moleculetype X\n\nmore", stderr=b""
            ),
            "preparation-failed",
            "no",
            "ERROR 1 [file topol.top, line 7]: No such moleculetype X",
        ),
        (Completed(code=-11, stdout=b"a\nb\nc\nd\n", stderr=b"\xff"), "preparation-failed", "no", "b c d"),
        (Completed(code=127, stdout=b"", stderr=b"No such file"), "binary-vanished", "other", "No such file"),
        (Completed(code=-9, stdout=b"", stderr=b"", timed_out=True), "preparation-hung", "other", ""),
        (Completed(code=0, stdout=b"nothing to do", stderr=b""), "preparation-failed", "no", "nothing to do"),
    ],
    ids=["fatal", "error", "crash", "vanished", "hung", "left nothing"],
)
async def test_a_failure_says_what_the_program_said(
    wanted: Preparation, completed: Completed, code: str, retry: str, evidence: str
) -> None:
    workshop = Workshop(Tool(completed, makes="" if completed.code == 0 else "out"))
    with pytest.raises(PreparationError) as raised:
        await workshop.make(wanted)
    found = raised.value.diagnosis
    assert (found.code, found.retry, found.evidence) == (code, retry, evidence)
    assert evidence in str(raised.value)
    assert "gmx" in found.summary
    assert left(wanted) == []


async def test_after_a_failure_it_is_tried_again(wanted: Preparation) -> None:
    tool = Tool(Completed(code=1, stdout=b"", stderr=b""))
    workshop = Workshop(tool)
    with pytest.raises(PreparationError):
        await workshop.make(wanted)
    tool.completed = Completed(code=0, stdout=b"", stderr=b"")
    await workshop.make(wanted)
    assert left(wanted) == ["a.tpr"]


async def test_blocking_work_is_done_elsewhere() -> None:
    assert await in_thread(threading.get_ident) != threading.get_ident()
    with pytest.raises(ZeroDivisionError):
        await in_thread(lambda: 1 // 0)


WARNINGS = b"""
WARNING 1 [file topol.top, line 7]:
  The total charge is 1.0;
  mend it.

NOTE 1 [file x.mdp]:
  a note

WARNING 2 [file x.mdp]:
  Strange thermostat
"""


async def test_warnings_come_with_the_product_for_all_who_use_it(wanted: Preparation) -> None:
    tool = Tool(Completed(code=0, stdout=b"", stderr=WARNINGS))
    told = ("The total charge is 1.0; mend it.", "Strange thermostat")
    assert await Workshop(tool).make(wanted) == told
    assert await Workshop(tool).make(wanted) == told
    assert len(tool.runs) == 1


async def test_warnings_that_nobody_has_read_refuse_the_input(wanted: Preparation) -> None:
    workshop = Workshop(Tool(Completed(code=0, stdout=b"", stderr=WARNINGS)))
    for warnings_max, tolerates in ((1, ()), (0, ("The total",))):
        strict = msgspec.structs.replace(wanted, warnings_max=warnings_max, tolerates=tolerates)
        with pytest.raises(PreparationError) as raised:
            await workshop.make(strict)
        found = raised.value.diagnosis
        assert found.evidence == "warning: The total charge is 1.0; mend it. warning: Strange thermostat"
        assert found.summary == "gmx grompp warned of what nobody has said to be harmless (2 in all)"
        assert found.remedy == "mend the topology"
        assert left(wanted) == []
    for warnings_max, tolerates in ((2, ()), (1, ("The total",))):
        await workshop.make(msgspec.structs.replace(wanted, warnings_max=warnings_max, tolerates=tolerates))
