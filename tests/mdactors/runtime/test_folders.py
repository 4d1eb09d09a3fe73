"""A job's folder: what the platform writes there, and that it never takes away what is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from events.attempts import AttemptStarted, Handle
from events.base import Record
from events.hardware import Slot
from events.jobs import JobSubmitted
from events.spec import InputFile, TprJob
from mdactors.core.lifecycle import Job, Jobs
from mdactors.ports import LaunchPlan
from mdactors.runtime.folders import Folders, Launched, digests, set_aside, write
from mdactors.runtime.inputs import InputStore
from tests.builders import a_capability, a_device

LAUNCHED = Launched(
    capability=a_capability(),
    device=a_device(),
    slot=Slot(id="cpu:0/0", node="n0", device="cpu:0", cpus=(0, 2)),
    assigned_at=1001.0,
    argv=("/usr/bin/gmx", "mdrun"),
    added=("-nt 1",),
    from_step=500,
)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def house(state: Path) -> Folders:
    return Folders(state, InputStore(state / "inputs"))


@pytest.fixture
def row(state: Path, tmp_path: Path) -> Job:
    original = tmp_path / "a.tpr"
    original.write_bytes(b"tpr")
    sha256, size, _ = InputStore(state / "inputs").keep(original)
    jobs = Jobs()
    files = (InputFile("tpr", "a.tpr", str(original), sha256, size),)
    jobs.apply(Record(1, 1000.5, 0, JobSubmitted(job=42, spec=TprJob(tpr="a.tpr"), inputs=files, examinations=())))
    return jobs[42]


def product(state: Path, name: str, text: str) -> str:
    path = state / "prepared" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


# ---------------------------------------------------------------- before the first attempt


def test_every_job_has_its_place(house: Folders, state: Path) -> None:
    assert house.of(42) == state / "jobs" / "000042"
    assert house.of(1_234_567) == state / "jobs" / "1234567"


def test_a_folder_holds_the_inputs_and_what_was_submitted(house: Folders, row: Job) -> None:
    folder = house.prepare(row)
    assert folder == house.of(42)
    assert tree(folder) == ["inputs/a.tpr", "job.json"]
    assert (folder / "attempts").is_dir()
    assert (folder / "inputs/a.tpr").read_bytes() == b"tpr"


def test_a_lost_journal_can_be_rebuilt_from_job_json(house: Folders, row: Job) -> None:
    plain: dict[str, Any] = msgspec.json.decode((house.prepare(row) / "job.json").read_bytes())
    assert plain["submitted_at"] == 1000.5
    assert msgspec.convert(plain["submitted"], JobSubmitted) == row.submitted


def test_preparing_again_leaves_everything_as_it_is(house: Folders, row: Job) -> None:
    folder = house.prepare(row)
    (folder / "job.json").write_text("as it was")
    (folder / "md.log").write_text("log")
    (folder / "inputs/a.tpr").unlink()
    house.prepare(row)
    assert (folder / "job.json").read_text() == "as it was"
    assert tree(folder) == ["inputs/a.tpr", "job.json", "md.log"]


# ---------------------------------------------------------------- before each attempt


def test_an_attempt_finds_what_its_plan_asks_for(house: Folders, row: Job, state: Path) -> None:
    folder = house.prepare(row)
    (folder / "md.log").write_text("of before")
    plan = LaunchPlan(
        argv=LAUNCHED.argv,
        links={"topol.tpr": product(state, "long.tpr", "longer")},
        files={"md.mdp": "nsteps = 5\n", "deep/er/job.json": "{}"},
        set_aside=("md.log", "not-there.edr"),
    )
    house.lay_out(folder, 1, plan, LAUNCHED)
    assert (folder / "topol.tpr").samefile(state / "prepared" / "long.tpr")
    assert (folder / "md.mdp").read_text() == "nsteps = 5\n"
    assert (folder / "deep/er/job.json").read_text() == "{}"
    assert (folder / "aside-1/md.log").read_text() == "of before"
    assert not (folder / "md.log").exists()
    assert [name for name in tree(folder) if name.endswith(".part")] == []


def test_a_link_of_an_earlier_attempt_is_replaced_and_its_product_stays(house: Folders, row: Job, state: Path) -> None:
    folder = house.prepare(row)
    for attempt, name in enumerate(("a", "b", "b"), 1):
        plan = LaunchPlan(argv=("x",), links={"topol.tpr": product(state, name, name)})
        house.lay_out(folder, attempt, plan, LAUNCHED)
        assert (folder / "topol.tpr").read_text() == name
    assert (state / "prepared" / "a").read_text() == "a"


def test_a_product_that_is_not_there_is_an_error(house: Folders, row: Job, state: Path) -> None:
    plan = LaunchPlan(argv=("x",), links={"topol.tpr": str(state / "gone")})
    with pytest.raises(FileNotFoundError):
        house.lay_out(house.prepare(row), 1, plan, LAUNCHED)


def test_a_later_life_reads_how_an_attempt_was_launched(house: Folders, row: Job) -> None:
    folder = house.prepare(row)
    house.lay_out(folder, 2, LaunchPlan(argv=LAUNCHED.argv), LAUNCHED)
    assert house.launched(folder, 2) == LAUNCHED
    assert house.launched(folder, 1) is None


@pytest.mark.parametrize("text", ["", "{", "{}", '{"argv": 7}', "\0"])
def test_what_can_t_be_read_is_as_good_as_absent(house: Folders, row: Job, text: str) -> None:
    folder = house.prepare(row)
    house.launch_file(folder, 1).write_text(text)
    assert house.launched(folder, 1) is None


def test_the_fact_of_a_start_has_what_was_written_before_it() -> None:
    handle = Handle(pid=7, start_ticks=1, boot_id="b")
    assert LAUNCHED.started(42, 1, Path("/f"), handle) == AttemptStarted(
        job=42,
        attempt=1,
        slot="cpu:0/0",
        folder="/f",
        handle=handle,
        argv=("/usr/bin/gmx", "mdrun"),
        added=("-nt 1",),
        cpus=(0, 2),
        from_step=500,
    )


# ---------------------------------------------------------------- files


def test_what_is_in_the_way_is_kept_each_time_in_a_folder_of_its_own(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        (tmp_path / "md.log").write_text(str(number))
        set_aside(tmp_path, ["md.log", "md.edr"])
    assert tree(tmp_path) == ["aside-1/md.log", "aside-2/md.log", "aside-3/md.log"]
    assert (tmp_path / "aside-2/md.log").read_text() == "2"
    set_aside(tmp_path, ["md.log"])
    assert not (tmp_path / "aside-4").exists()


def test_a_file_is_the_old_or_the_new_one_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write(path, b"old")

    def half(self: Path, data: bytes) -> int:
        with self.open("wb") as file:
            file.write(data[:2])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", half)
        with pytest.raises(OSError, match="No space"):
            write(path, b"new and longer")
    assert path.read_bytes() == b"old"
    write(path, b"new")
    assert path.read_bytes() == b"new"


def test_digests_are_in_the_order_of_the_inputs() -> None:
    assert digests([InputFile("gro", "c", "/c", "2", 1), InputFile("top", "t", "/t", "1", 1)]) == ("2", "1")
