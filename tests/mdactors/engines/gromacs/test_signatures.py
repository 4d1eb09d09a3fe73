from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdactors.engines.gromacs.signatures import SIGNATURES, by_code, line_around, matches

# What GROMACS wrote in each situation -> code of the diagnosis.
LINES = {
    "step 0: One or more water molecules can not be settled.": "settle-blowup",
    "Too many LINCS warnings (1003)": "lincs-blowup",
    "Step 9, time 0.018 (ps)  LINCS WARNING": "lincs-blowup",
    "The energy or force on at least one atom is not finite.": "not-finite",
    "Step 0: The total potential energy is 8.48079e+32, which is extremely high.": "energy-too-high",
    "2 particles communicated to PME rank 3 are more than 2/3 times the cut-off out of the domain": "pme-out-of-range",
    "One or more atoms moved too far between two domain decomposition steps.": "moved-too-far",
    "reading tpx file (topol.tpr) version 133 with version 127 program": "tpr-too-new",
    "The group cutoff scheme has been removed": "group-scheme",
    "Unknown command-line option -nbfe": "no-such-option",
    "Inconsistency in user input:": "user-input",
    "Update task can not run on the GPU, because": "gpu-update-refused",
    "Some output files listed in the checkpoint file state.cpt are not present": "outputs-missing",
    "Checksum wrong for 'md.log'.": "outputs-changed",
    "Can't read 1048576 bytes of 'traj_comp.xtc' to compute checksum.": "outputs-changed",
    "Checkpoint file is for a system of 648 atoms, while the current system consists of 10 atoms": "other-system",
    "Checkpoint file corrupted/truncated, or maybe you are out of disk space?": "checkpoint-damaged",
    "Start of file magic number mismatch, checkpoint file has 1, should be 171817": "checkpoint-damaged",
    "Cannot rename checkpoint file; maybe you are out of disk space?": "disk-full",
    "Failed to lock: md.log. Already running simulation?": "already-running",
    "File locking is not supported on this system. Use mdrun -noappend": "no-locks",
    "Won't make more than 99 backups of md.log for you.": "too-many-backups",
    "    File 'topol.tpr' does not exist or is not accessible.": "no-such-file",
    "Can not read file topol.tpr": "unreadable-input",
    "File input/output error: md.log": "not-writable",
    "Device ID 0 did not correspond to any of the 0 detected device(s)": "no-device",
    "CUDA error #100 (cudaErrorNoDevice): no CUDA-capable device is detected.": "no-device",
    "CUDA error #35 (cudaErrorInsufficientDriver): driver too old": "driver-too-old",
    "Asynchronous H2D copy failed. CUDA error #700 (cudaErrorIllegalAddress)": "device-fault",
    "cudaErrorMemoryAllocation: out of memory": "device-memory",
    "CUDA error #719 (cudaErrorLaunchFailure): unspecified launch failure": "device-fault",
    "CUDA error #2 (cudaErrorUnknown)": "device-error",
    "Pressure scaling more than 1%. This may mean your system is not yet equilibrated.": "pressure-blowup",
    "The coordinates could not be constrained. Minimizer 'cg' can not handle": "not-constrained",
    "Not enough memory. Failed to realloc 4000000 bytes for nlist->jjnr": "memory",
    "There is no domain decomposition for 8 ranks that is compatible": "no-decomposition",
    "There is no domain decomposition for 1 ranks that is compatible": "cell-too-small",
    "Environment variable OMP_NUM_THREADS (2) and the number of threads requested on the command line (1) have different": "threads-contradict",
    "gmx: error while loading shared libraries: libmpi.so.40: cannot open shared object file": "library-missing",
    "*** An error occurred in MPI_Init_thread": "mpi-start",
}


@pytest.mark.parametrize("line", LINES)
def test_each_situation_by_its_words(line: str) -> None:
    found = matches(f"Reading file topol.tpr\n  {line}\nFor more information\n")
    assert found[0].code == LINES[line]
    assert found[0].evidence == line.strip()
    assert found[0].summary


def test_words_are_found_where_gromacs_breaks_its_lines() -> None:
    text = "Cannot read/write checkpoint; corrupt file, or maybe you are out of disk\nspace?\n"
    assert [found.code for found in matches(text)] == ["disk-full"]


def test_every_row_has_a_situation() -> None:
    unseen = [row.code for row in SIGNATURES if not any(re.search(row.words, line) for line in LINES)]
    assert unseen == []


def test_the_cause_comes_before_its_consequences() -> None:
    text = "CUDA error #700\nStep 3  LINCS WARNING\nOne or more water molecules can not be settled\n"
    assert [row.code for row in matches(text)][:3] == ["settle-blowup", "lincs-blowup", "device-fault"]


def test_a_heading_gives_way_to_its_message() -> None:
    bar = "-" * 55
    text = f"{bar}\nProgram: gmx mdrun\nSource file: x.cpp\n\nError in user input:\nNo such thing\nas that\n\nFor more\n{bar}\n"
    (found,) = matches(text)
    assert (found.code, found.evidence) == ("user-input", "No such thing as that")


@pytest.mark.parametrize(
    ("code", "name", "retry"),
    [
        (-9, "killed", "same"),
        (-11, "segfault", "other"),
        (127, "not-found", "other"),
        (-1, "signal-1", "same"),
        (1, "status-1", "no"),
    ],
)
def test_what_the_exit_code_alone_says(code: int, name: str, retry: str) -> None:
    found = by_code(code, "last words")
    assert (found.code, found.retry, found.evidence) == (name, retry, "last words")


@given(st.text(max_size=200))
def test_numerics_are_never_tried_again_on_the_same_device(text: str) -> None:
    assert all(found.retry != "same" for found in matches(text) if found.kind == "numerics")


def test_the_line_around_a_place() -> None:
    assert line_around("first\n  second \nthird", 9) == "second"
    assert line_around("only", 2) == "only"
