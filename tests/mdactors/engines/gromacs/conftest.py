"""Real files of many GROMACS versions, and builders of a job's folder."""

from __future__ import annotations

import csv
import gzip
import shutil
import struct
from pathlib import Path

import pytest

from events.hardware import Capability, Device, Slot
from events.spec import GromacsTopJob, InputFile, TprJob

SHARED = Path(__file__).resolve().parents[5] / "shared"
CORPUS = SHARED / "corpus"
SYSTEMS = SHARED / "systems"

LOG_HEAD = """GROMACS version:    2022.5-Debian
Precision:          mixed
MPI library:        thread_mpi
GPU support:        disabled

Input Parameters:
   integrator                     = md
   dt                             = 0.002
   nsteps                         = 5000
   init-step                      = 0

Using 1 MPI thread
Using 2 OpenMP threads
There are: 648 Atoms
Started mdrun on rank 0 Tue Dec  1 02:41:35 2026
"""


def rows(kind: str) -> list[dict[str, str]]:
    """Return the index's rows of one kind; none where the corpus is absent."""
    index = CORPUS / "INDEX.tsv"
    if not index.exists():
        return []
    with index.open(newline="") as file:
        return [row for row in csv.DictReader(file, delimiter="\t") if row["kind"] == kind]


def params(kind: str) -> list[object]:
    """Return the rows of one kind as parameters named by their files."""
    return [pytest.param(row, id=row["file"]) for row in rows(kind)]


def corpus_bytes(name: str) -> bytes:
    """Return a corpus file, unpacked; the test is skipped where the corpus is absent."""
    path = CORPUS / name
    if not path.exists():
        pytest.skip("the corpus of real files is absent")
    data = path.read_bytes()
    return gzip.decompress(data) if name.endswith(".gz") else data


def system(name: str) -> Path:
    """Return a real system's file; the test is skipped where the systems are absent."""
    path = SYSTEMS / name
    if not path.exists():
        pytest.skip("the real systems are absent")
    return path


def a_checkpoint(step: int, outputs: dict[str, int] | None = None, *, part: int = 1) -> bytes:
    """Return a checkpoint of format 22 with this step and these output files."""

    def text(word: str) -> bytes:
        data = word.encode()
        return struct.pack(">i", len(data)) + data + b"\0" * (-len(data) % 4)

    head = struct.pack(">i", 171817) + b"".join(text(word) for word in ("2022.5", "", "", "", "/usr/bin/gmx", "now"))
    numbers = struct.pack(">8iqd", 648, 1, 0, 0, 0, 0, part, 0, 0, 0.0)[: 7 * 4]
    state = struct.pack(">ii", 22, 0) + text("host") + numbers + struct.pack(">qd", step, step * 0.002)
    files = b"".join(
        text(name) + struct.pack(">q", size) + b"\0" * 68 for name, size in (outputs or {"md.log": 1}).items()
    )
    return head + state + b"\x3f\x80\0\0" * 40 + files + struct.pack(">i", 171819)


class Job:
    """A job's folder in the making."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, name: str, content: str | bytes) -> Path:
        """Put a file into the folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def corpus(self, name: str, source: str) -> Path:
        """Put a real file into the folder."""
        return self.write(name, corpus_bytes(source))

    def terminal(self, text: str, attempt: int = 1) -> None:
        """Say on an attempt's terminal."""
        self.write(f"attempts/{attempt}/stderr", text)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


CPU = Device(id="cpu:0", node="n", type="cpu", index=0, cpus=(0, 1))
SLOT = Slot(id="cpu:0/0", node="n", device="cpu:0", cpus=(0, 1), threads=2)
TPR_JOB = TprJob(tpr="nvt.tpr")
TOP_JOB = GromacsTopJob(gro="conf.gro", top="topol.top", mdp="nvt.mdp")
TPR_INPUT = InputFile(role="tpr", name="nvt.tpr", path="/home/me/nvt.tpr", sha256="ab" * 32, size=1)
TOP_INPUTS = tuple(
    InputFile(role=role, name=name, path=f"/home/me/{name}", sha256=role * 16, size=1)
    for role, name in (("gro", "conf.gro"), ("top", "topol.top"), ("mdp", "nvt.mdp"))
)


def a_capability(**changes: object) -> Capability:
    """Return a thread-MPI build for the CPU, with changes."""
    fields: dict[str, object] = {
        "id": "gromacs@2022.5/CPU/mixed@n/cpu:0",
        "node": "n",
        "engine": "gromacs",
        "version": "2022.5",
        "backend": "CPU",
        "precision": "mixed",
        "device": "cpu:0",
        "binary": "/usr/bin/gmx",
        "features": {"MPI library": "thread_mpi", "GPU support": "disabled"},
    }
    return Capability(**{**fields, **changes})  # type: ignore[arg-type]


def a_program(folder: Path, name: str, script: str) -> Path:
    """Write an executable that stands for an engine."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def have(program: str) -> bool:
    """Return whether a program is installed."""
    return shutil.which(program) is not None
