from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from events.hardware import Device
from mdactors.engines.gromacs.files import text_of
from mdactors.engines.gromacs.probe import (
    PROBE_SECONDS,
    Program,
    capabilities,
    find_programs,
    fingerprint,
    is_program_name,
    probe,
)
from mdactors.engines.gromacs.versions import Build, parse_version
from mdactors.ports import Completed, Host
from tests.mdactors.engines.gromacs.conftest import CPU, a_program, corpus_bytes

GPU = Device(id="cuda:0", node="n", type="cuda", index=0)
AMD = Device(id="rocm:0", node="n", type="rocm", index=0)
INTEL = Device(id="oneapi:0", node="n", type="oneapi", index=0)
ASCEND = Device(id="ascend:0", node="n", type="ascend", index=0)

VERSION = "GROMACS version:    2022.5-Debian\nPrecision:  {precision}\nMPI library:  {mpi}\nGPU support:  {gpu}\n"


class FakeRun:
    """Answers for programs by their names, and notes what was asked."""

    def __init__(self, answers: Mapping[str, Completed | OSError]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, ...]] = []
        self.timeouts: set[float] = set()

    async def __call__(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        cwd: str | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> Completed:
        self.asked.append(tuple(argv))
        self.timeouts.add(timeout)
        answer = self.answers[Path(argv[0]).name]
        if isinstance(answer, OSError):
            raise answer
        return answer


def said(text: str = "", *, code: int = 0, stderr: str = "", timed_out: bool = False) -> Completed:
    return Completed(code=code, stdout=text.encode(), stderr=stderr.encode(), timed_out=timed_out)


def version(precision: str = "mixed", mpi: str = "thread_mpi", gpu: str = "disabled") -> str:
    return VERSION.format(precision=precision, mpi=mpi, gpu=gpu)


def build(**words: str) -> Build:
    found = parse_version(version(**words))
    assert found is not None
    return found


def real_build(name: str) -> Build:
    found = parse_version(text_of(corpus_bytes(name)))
    assert found is not None
    return found


def host(folder: Path, *devices: Device) -> Host:
    return Host(node="n", devices=devices or (CPU,), search_path=(str(folder),))


def ids(*builds: Build, devices: Sequence[Device] = (CPU,)) -> list[str]:
    programs = [(Program(f"/bin/gmx{number}", "f"), each) for number, each in enumerate(builds)]
    return [row.id for row in capabilities(programs, Host(node="n", devices=tuple(devices), search_path=()))]


@pytest.mark.parametrize(
    "name", ["gmx", "gmx_d", "gmx_mpi", "gmx_mpi_d", "gmx-2024", "gmx_mpi_cuda", "gmx_plumed_s", "gmx.5"]
)
def test_names_of_engines(name: str) -> None:
    assert is_program_name(name)


@pytest.mark.parametrize("name", ["gmxapi", "GMXRC", "gmx_MMPBSA", "gmx-completion.bash", "gmx.1.gz", "mdrun", "agmx"])
def test_names_of_other_things(name: str) -> None:
    assert not is_program_name(name)


def test_each_file_is_found_once_under_the_first_name_that_leads_to_it(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.mkdir()
    second.mkdir()
    real = a_program(second, "gmx-2022", "true")
    (first / "gmx").symlink_to(real)
    (tmp_path / "c").symlink_to(second)
    (second / "gmx_d").write_text("not executable")
    (second / "gmx_mpi").mkdir()
    found = find_programs([str(first), str(tmp_path / "none"), str(second), str(tmp_path / "c")])
    assert [program.path for program in found] == [str(first / "gmx")]


def test_a_fingerprint_changes_with_the_file(tmp_path: Path) -> None:
    path = a_program(tmp_path, "gmx", "true")
    before = fingerprint(str(path))
    os.utime(path, (1, 1))
    assert len({before, fingerprint(str(path)), fingerprint(str(tmp_path / "none"))}) == 3


async def test_builds_become_rows(tmp_path: Path) -> None:
    for name in ("gmx", "gmx_d", "gmx_mpi"):
        a_program(tmp_path, name, "true")
    run = FakeRun({"gmx": said(version()), "gmx_d": said(version("double")), "gmx_mpi": said(version(mpi="MPI"))})
    found = await probe(run, host(tmp_path))
    assert {row.id: (Path(row.binary).name, row.speed) for row in found.capabilities} == {
        "gromacs@2022.5/CPU/mixed@n/cpu:0": ("gmx", 20),
        "gromacs@2022.5/CPU/double@n/cpu:0": ("gmx_d", 10),
        "gromacs@2022.5-mpi/CPU/mixed@n/cpu:0": ("gmx_mpi", 15),
    }
    assert found.absences == ()
    assert sorted(run.asked) == [(str(tmp_path / name), "-quiet", "--version") for name in ("gmx", "gmx_d", "gmx_mpi")]
    assert run.timeouts == {PROBE_SECONDS}
    row = found.capabilities[0]
    assert row.limits == {"tpx_version": 127, "tpx_generation": 28, "threads": 1}
    assert (row.build, row.kinds, row.health) == ("2022.5-Debian", ("tpr", "gromacs-top"), "ready")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (said(code=-9, timed_out=True), "no answer within 5 s"),
        (said("hello, I am somebody else"), "hello, I am somebody else"),
        (said(version(), code=1), "ended with 1"),
        (
            said(code=1, stderr="*** An error occurred in MPI_Init_thread\nLocal abort\n"),
            "MPI did not start: *** An error",
        ),
        (said(code=-11), "ended with -11 and no version; it said: nothing"),
        (PermissionError(13, "Permission denied"), "Permission denied"),
    ],
)
async def test_what_goes_wrong_is_an_absence_and_nothing_more(
    tmp_path: Path, answer: Completed | OSError, words: str
) -> None:
    a_program(tmp_path, "gmx", "true")
    a_program(tmp_path, "gmx_d", "true")
    found = await probe(FakeRun({"gmx": answer, "gmx_d": said(version("double"))}), host(tmp_path))
    assert [row.precision for row in found.capabilities] == ["double"]
    (absence,) = found.absences
    assert absence.what == str(tmp_path / "gmx")
    assert words in absence.why


async def test_nothing_found_says_where_it_was_looked_for_and_what_helps(tmp_path: Path) -> None:
    (absence,) = (await probe(FakeRun({}), host(tmp_path))).absences
    assert (absence.engine, absence.what) == ("gromacs", "gmx")
    assert absence.why == f"no gmx, gmx_d or gmx_mpi in {tmp_path}"
    assert "apt install gromacs" in absence.remedy


def test_a_gpu_build_runs_on_its_devices_and_on_the_cpu() -> None:
    cuda = real_build("gmxver_2025_2_cuda.txt")
    assert ids(cuda, devices=[CPU, GPU, AMD]) == [
        "gromacs@2025.2/CPU/mixed@n/cpu:0",
        "gromacs@2025.2/CUDA/mixed@n/cuda:0",
    ]
    assert ids(cuda, devices=[CPU]) == ["gromacs@2025.2/CPU/mixed@n/cpu:0"]


@pytest.mark.parametrize(
    ("gpu", "devices"),
    [
        ("SYCL (hipSYCL)", ["rocm:0"]),
        ("SYCL (AdaptiveCpp)", ["rocm:0"]),
        ("SYCL (oneAPI DPC++)", ["oneapi:0"]),
        ("SYCL (DPCPP)", ["oneapi:0"]),
        ("HIP", ["rocm:0"]),
        ("OpenCL", ["cuda:0", "rocm:0", "oneapi:0"]),
        ("disabled", []),
    ],
)
def test_devices_of_a_backend(gpu: str, devices: list[str]) -> None:
    found = ids(build(gpu=gpu), devices=[GPU, AMD, INTEL, ASCEND])
    assert [name.rpartition("/")[2] for name in found] == devices


def test_no_driver_makes_the_gpu_row_unhealthy_and_leaves_the_cpu_row() -> None:
    programs = [(Program("/bin/gmx_mpi", "f"), real_build("gmxver_2021_plumed_container.txt"))]
    rows = capabilities(programs, Host(node="n", devices=(CPU, GPU), search_path=()))
    health = {row.backend: (row.health, row.why) for row in rows}
    assert health["CPU"] == ("ready", "")
    assert health["CUDA"][0] == "unhealthy"
    assert "CUDA driver: 0.0" in health["CUDA"][1]


def test_two_builds_of_one_version_get_names_of_their_own() -> None:
    found = ids(build(), build(), build())
    assert found[:2] == ["gromacs@2022.5/CPU/mixed@n/cpu:0", "gromacs@gmx1-2022.5/CPU/mixed@n/cpu:0"]
    assert len(set(found)) == 3


def test_the_gpu_is_preferred_to_the_cpu_and_mixed_to_double() -> None:
    programs = [(Program(f"/bin/{gpu}{precision}", ""), build(gpu=gpu, precision=precision))
                for gpu, precision in (("CUDA", "mixed"), ("disabled", "double"), ("disabled", "mixed"))]  # fmt: skip
    rows = capabilities(programs, Host(node="n", devices=(CPU, GPU), search_path=()))
    best = max(rows, key=lambda row: row.speed)
    slowest = min(rows, key=lambda row: row.speed)
    assert (best.backend, slowest.precision) == ("CUDA", "double")
    assert math.isclose(best.speed, 100)


def test_the_maintainers_reservations_are_kept() -> None:
    programs = [(Program("/bin/gmx", ""), real_build("gmxver_2025_1_hip_nodevice_cut.txt"))]
    (row,) = capabilities(programs, Host(node="n", devices=(AMD,), search_path=()))
    assert row.features["Validation"] == "non-bonded kernels only"
    assert row.features["MPI library"] == "MPI"


def test_compiler_flags_are_not_dragged_along() -> None:
    programs = [(Program("/bin/gmx", ""), real_build("gmxver_2020_4_cuda.txt"))]
    (row,) = capabilities(programs, Host(node="n", devices=(CPU,), search_path=()))
    assert max(len(value) for value in row.features.values()) <= 160
    assert row.features["SIMD instructions"] == "AVX_512"
