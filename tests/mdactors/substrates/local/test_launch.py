"""Launching: exactly once, detached, bound, with clean streams; and what the shim records."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import anyio
import pytest

from mdactors.errors import AlreadyClaimedError, FolderBusyError, LaunchError
from mdactors.substrates.local import launch
from mdactors.substrates.local.adopt import read_shim
from mdactors.substrates.local.launch import bound
from mdactors.substrates.local.place import Place, acquire
from mdactors.substrates.local.records import parse_exit
from tests.mdactors.substrates.local.kit import Bench, appears, open_descriptors

SHIM = Path(launch.__file__).with_name("shim.sh")
NASTY = (
    "two words",
    "'",
    '"',
    "$HOME `id` $(id)",
    "line\nbreak",
    "*",
    "",
    "-n",
    "--",
    "計算",
    "a\\b",
    "~",
    "#",
    "&;|<>",
)


async def test_streams_are_files_and_stdin_is_empty(bench: Bench) -> None:
    handle = await bench.sh("readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2; cat; echo no >&2")
    await bench.substrate.wait(bench.folder, 1, handle)
    claim = bench.place().claim
    assert bench.stdout().decode().splitlines() == ["/dev/null", f"{claim}/stdout", f"{claim}/stderr"]
    assert bench.file("stderr").read_text() == "no\n"


async def test_engine_holds_no_descriptor_but_its_streams_and_the_lock(bench: Bench) -> None:
    handle = await bench.launch(bench.order("/bin/ls", "/proc/self/fd"))
    await bench.substrate.wait(bench.folder, 1, handle)
    assert bench.stdout().split() == [b"0", b"1", b"2", b"3", b"9"]  # 3: the listing itself


async def test_engine_gets_exactly_the_environment_that_was_ordered(bench: Bench) -> None:
    environment = {"PATH": "/usr/bin:/bin", "GMX_X": "two words\nand a line", "mdactors": "計算"}
    handle = await bench.launch(bench.order("/usr/bin/env", "-0", environment=environment))
    await bench.substrate.wait(bench.folder, 1, handle)
    lines = bench.stdout().decode().rstrip("\0").split("\0")
    assert sorted(lines) == sorted(f"{name}={value}" for name, value in environment.items())


async def test_arguments_arrive_unchanged(bench: Bench) -> None:
    handle = await bench.launch(bench.order("/usr/bin/printf", "%s\\0", *NASTY))
    await bench.substrate.wait(bench.folder, 1, handle)
    assert bench.stdout().decode().split("\0")[:-1] == list(NASTY)


@pytest.mark.parametrize("name", ["two words", "it's", "$HOME", "-n", "line\nbreak", "計算", 'a"b`c;*'])
async def test_folder_may_have_any_name(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    bench = Bench(folder)
    handle = await bench.launch(bench.order("/bin/pwd"))
    record = await bench.substrate.wait(bench.folder, 1, handle)
    assert record is not None
    assert record.code == 0
    assert bench.stdout().decode() == f"{folder}\n"


async def test_program_may_have_any_name(bench: Bench) -> None:
    program = bench.path / "my engine=$(x) 計算"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    handle = await bench.launch(bench.order(str(program)))
    record = await bench.substrate.wait(bench.folder, 1, handle)
    assert record is not None
    assert record.code == 3


async def test_session_is_its_own_and_signals_have_their_defaults(bench: Bench) -> None:
    handle = await bench.sh("grep -E 'SigIgn|SigBlk' /proc/self/status; cut -d' ' -f5,6 /proc/self/stat")
    await bench.substrate.wait(bench.folder, 1, handle)
    words = bench.stdout().split()
    below_the_libraries_own = 0x7FFF_FFFF
    assert [int(mask, 16) & below_the_libraries_own for mask in words[1:4:2]] == [0, 0]
    assert words[4:] == [str(handle.pid).encode()] * 2


async def test_second_launch_is_refused_while_it_runs_and_afterwards(bench: Bench) -> None:
    handle = await bench.up()
    with pytest.raises(AlreadyClaimedError):
        await bench.substrate.launch(bench.order("/bin/true"))
    os.killpg(handle.pid, 9)
    await bench.substrate.wait(bench.folder, 1, handle)
    with pytest.raises(AlreadyClaimedError):
        await bench.substrate.launch(bench.order("/bin/true"))


async def test_second_launch_is_refused_at_once(bench: Bench) -> None:
    await bench.sh("exec sleep 60")
    with pytest.raises(AlreadyClaimedError):
        await bench.substrate.launch(bench.order("/bin/true"))


async def test_of_many_launches_at_once_one_succeeds(bench: Bench) -> None:
    refused = []

    async def try_it() -> None:
        try:
            await bench.sh("echo ran >>ran; exec sleep 60")
        except AlreadyClaimedError as error:
            refused.append(error)

    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(try_it)
    assert len(refused) == 19
    assert await appears(bench.path / "ran") == "ran\n"


async def test_busy_folder_is_refused_and_the_next_attempt_stays_unclaimed(bench: Bench) -> None:
    await bench.up()
    with pytest.raises(FolderBusyError):
        await bench.substrate.launch(bench.order("/bin/true", attempt=2))
    assert not bench.place(2).claimed()


async def test_folder_stays_busy_while_a_descendant_lives(bench: Bench) -> None:
    await bench.sh("sleep 60 & echo up >up")
    await appears(bench.file("exit"))
    with pytest.raises(FolderBusyError):
        await bench.substrate.launch(bench.order("/bin/true", attempt=2))


async def test_look_at_the_lock_in_passing_makes_no_folder_busy(bench: Bench) -> None:
    fd = acquire(bench.place().lock)

    async def let_go() -> None:
        await anyio.sleep(0.001)
        os.close(fd)

    async with anyio.create_task_group() as group:
        group.start_soon(let_go)
        await bench.sh("exit 0")


async def test_claim_that_never_ran_may_be_launched(bench: Bench) -> None:
    os.makedirs(bench.place().claim)
    handle = await bench.sh("exit 4")
    record = await bench.substrate.wait(bench.folder, 1, handle)
    assert record is not None
    assert record.code == 4


async def test_torn_shim_record_counts_as_a_run(bench: Bench) -> None:
    os.makedirs(bench.place().claim)
    bench.file("shim").touch()
    with pytest.raises(AlreadyClaimedError):
        await bench.substrate.launch(bench.order("/bin/true"))


@pytest.mark.parametrize("program", ["/no/such/program", "/etc/passwd", "/tmp"])
async def test_missing_program_is_no_attempt(bench: Bench, program: str) -> None:
    with pytest.raises(LaunchError, match="no program"):
        await bench.substrate.launch(bench.order(program))
    assert (await bench.substrate.find(bench.folder, 1)).state == "absent"
    await bench.sh("exit 0")


async def test_missing_folder_and_impossible_argument_are_launch_errors(bench: Bench) -> None:
    with pytest.raises(LaunchError):
        await bench.substrate.launch(bench.order("/bin/true", "nul\0"))
    with pytest.raises(LaunchError):
        await Bench(bench.path / "none").substrate.launch(Bench(bench.path / "none").order("/bin/true"))


@pytest.mark.parametrize("cpus", [(min(os.sched_getaffinity(0)),), tuple(sorted(os.sched_getaffinity(0)))])
async def test_engine_is_bound_and_we_are_not(bench: Bench, cpus: tuple[int, ...]) -> None:
    before = os.sched_getaffinity(0)
    handle = await bench.up(cpus=cpus)
    assert bench.substrate.masks(handle) == (cpus,)
    assert os.sched_getaffinity(0) == before


async def test_forbidden_cpus_are_a_launch_error(bench: Bench) -> None:
    before = os.sched_getaffinity(0)
    for cpus in ((1023,), (min(before), 1023)):
        with pytest.raises(LaunchError, match=r"1023|Invalid"):
            await bench.substrate.launch(bench.order("/bin/true", cpus=cpus))
    assert os.sched_getaffinity(0) == before
    await bench.sh("exit 0")


def test_binding_ends_with_its_block() -> None:
    before = os.sched_getaffinity(0)
    with pytest.raises(ZeroDivisionError), bound((min(before),)):
        raise ZeroDivisionError
    assert os.sched_getaffinity(0) == before


async def test_no_descriptor_is_leaked(bench: Bench) -> None:
    await bench.substrate.wait(bench.folder, 1, await bench.sh("exit 0"))
    before = open_descriptors()
    for attempt in range(2, 6):
        await bench.substrate.wait(bench.folder, attempt, await bench.sh("exit 0", attempt=attempt))
        with pytest.raises(AlreadyClaimedError):
            await bench.sh("exit 0", attempt=attempt)
    assert open_descriptors() == before


async def test_shim_records_itself_before_the_engine_runs(bench: Bench) -> None:
    handle = await bench.sh("cat attempts/1/shim >seen; echo up >up")
    await appears(bench.path / "up")
    assert (bench.path / "seen").read_text().split()[1] == str(handle.pid)
    assert read_shim(bench.place()) == handle


async def test_shim_survives_the_signal_that_ends_the_engine(bench: Bench) -> None:
    for attempt, number in enumerate((1, 2, 3, 10, 12, 13, 14, 15), start=1):
        handle = await bench.up(attempt=attempt)
        os.killpg(handle.pid, number)
        record = await bench.substrate.wait(bench.folder, attempt, handle)
        assert record is not None
        assert record.code == -number
        (bench.path / "up").unlink()


async def test_exit_record_goes_to_the_shims_own_where_it_has_no_file(bench: Bench) -> None:
    os.makedirs(bench.place().exit)  # a folder in its place, as good as a full disk
    handle = await bench.sh("exit 6")
    record = await bench.substrate.wait(bench.folder, 1, handle)
    assert record is not None
    assert record.code == 6
    assert (await bench.substrate.find(bench.folder, 1)).exit == record


def test_running_shim_is_not_changed_by_an_upgrade(tmp_path: Path) -> None:
    place = Place(str(tmp_path), 1)
    os.makedirs(place.claim)
    shim = tmp_path / "shim.sh"
    shutil.copy(SHIM, shim)
    engine = ("/bin/sh", "-c", "echo up >up; while [ -e up ]; do sleep 0.01; done")
    with subprocess.Popen(("/bin/sh", str(shim), place.folder, "1", *engine)) as process:
        anyio.run(appears, tmp_path / "up")
        shim.write_text("echo upgraded\n" * 500)
        (tmp_path / "up").unlink()
        assert process.wait(10) == 0
    assert parse_exit(Path(place.exit).read_bytes(), 0.0) is not None


@pytest.mark.parametrize("shell", ["dash", "bash --posix", "busybox sh", "ksh", "mksh"])
def test_shim_works_in_any_posix_shell(tmp_path: Path, shell: str) -> None:
    words = shell.split()
    if shutil.which(words[0]) is None:
        pytest.skip(f"no {words[0]} here")
    place = Place(str(tmp_path), 1)
    os.makedirs(place.claim)
    argv = (*words, str(SHIM), place.folder, "1", "/bin/sh", "-c", "kill -TERM 0; sleep 10")
    subprocess.run(argv, start_new_session=True, check=True, capture_output=True)
    record = parse_exit(Path(place.exit).read_bytes(), 0.0)
    assert record is not None
    assert record.code == -15
    assert read_shim(place) is not None
