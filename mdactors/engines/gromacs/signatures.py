"""What GROMACS says when it fails: one table, from the words to the class, the first action and what a retry can mend.

The first row that matches is the diagnosis, so the order is the priority: causes before their consequences. Words were
seen in runs of 2022.5 unless the comment says otherwise. Numbers of CUDA errors are NVIDIA's.
"""

from __future__ import annotations

import functools
import re
from typing import Literal

import msgspec

from events.outcome import Diagnosis, DiagnosisClass
from mdactors.engines.gromacs.log import ERROR_CLASSES, fatal_error

Retry = Literal["same", "other", "no"]


class Signature(msgspec.Struct, frozen=True):
    """One row of the table."""

    kind: DiagnosisClass
    code: str
    words: str
    """Regular expression; the line that holds the match is the evidence."""
    summary: str
    retry: Retry
    remedy: str


STABILITY = "look at the start structure; minimise it, equilibrate, or take a shorter time step"

SIGNATURES: tuple[Signature, ...] = (
    # Numerics: the run blew up. Segmentation faults follow from it and are no bug of the platform.
    Signature("numerics", "settle-blowup", r"water molecules? can ?not be settled",
              "the system is unstable: water molecules could not be settled", "no", STABILITY),
    Signature("numerics", "lincs-blowup", r"Too many LINCS warnings",
              "the system is unstable: too many LINCS warnings", "no", STABILITY),
    Signature("numerics", "not-finite", r"at least one atom is not finite",
              "the forces of the start structure are not finite: atoms overlap", "no", STABILITY),
    Signature("numerics", "energy-too-high", r"potential energy is \S+, which is (?:extremely high|not finite)",
              "the start structure has an absurd energy: atoms overlap", "no", STABILITY),
    Signature("numerics", "not-constrained", r"coordinates could not be constrained",
              "the start structure violates its constraints too much", "no", STABILITY),
    Signature("numerics", "moved-too-far", r"atoms? moved too far between two domain decomposition steps",
              "the system is unstable: atoms moved too far in one step", "other", STABILITY),
    Signature("numerics", "pme-out-of-range", r"particles? communicated to PME rank \d+ (?:are|is) more than 2/3",
              "the system is unstable: atoms left their cell", "other", STABILITY),
    Signature("numerics", "pressure-blowup", r"Pressure scaling more than",
              "the box changes too fast: the barostat came too early", "no",
              "equilibrate at constant volume first"),
    Signature("numerics", "lincs-blowup", r"LINCS WARNING",
              "the system is unstable: constraints could not be kept", "no", STABILITY),
    # Input: every retry meets it again.
    Signature("build", "tpr-too-new", r"reading tpx file .* version \d+ with version \d+ program",
              "the tpr was made by a newer GROMACS than the one that read it", "other",
              "use a GROMACS at least as new as the one that made the tpr"),
    Signature("build", "group-scheme", r"group cut-?off scheme|can no longer be run by mdrun",
              "the tpr uses the group cut-off scheme, which GROMACS has not run since 2020", "no",
              "make the tpr again with cutoff-scheme = Verlet"),
    Signature("files", "no-such-file", r"(?:Can ?not open file|does not exist or is not accessible|No such file)",
              "a file is missing", "no", "read the evidence"),
    Signature("build", "no-such-option", r"Unknown command-line option",
              "this version does not know an option of the command line", "other", "report it: the plan is wrong here"),
    Signature("build", "gpu-update-refused", r"Update task (?:can ?not run on the GPU|on the GPU was required)",
              "the update can't run on the GPU for this input", "no", "read the conditions in stderr"),
    # Files.
    Signature("files", "outputs-missing", r"Some output files listed in the checkpoint file",
              "outputs of the earlier part are missing or renamed", "same", "restore them under their names"),
    Signature("files", "outputs-changed", r"Checksum wrong for|Can't read \d+ bytes of",
              "outputs of the earlier part were edited or cut", "no", "restore them, or start anew in another job"),
    Signature("files", "other-system", r"Checkpoint file is for a system of",
              "the checkpoint belongs to another system", "no", "don't put files of other jobs into this folder"),
    Signature("files", "checkpoint-damaged",
              r"Checkpoint file corrupted/truncated|is empty/corrupted|Start of file magic number mismatch",
              "the checkpoint is damaged", "same", "the one before it is used next"),
    Signature("files", "disk-full", r"out of disk space|No space left on device|Cannot (?:fsync|rename checkpoint file)",
              "the disk is full, or the file system refused a write", "same", "make room, then run again"),
    Signature("files", "already-running", r"Failed to lock: .*Already running",
              "another mdrun writes in this folder", "no", "find it and end it"),
    Signature("files", "no-locks", r"File locking is not supported",
              "the file system has no locks, which appending needs", "no", "use another file system for the state"),
    Signature("files", "too-many-backups", r"Won't make more than \d+ backups",
              "too many old files lie in the folder", "same", ""),
    Signature("build", "unreadable-input", r"Can ?not read file|wrong string length|XDR.*read",
              "an input can't be read", "no", "compare its checksum with the original"),
    Signature("files", "not-writable", r"File input/output error",
              "a file can't be read or written", "same", "check rights and room in the job's folder"),
    # Devices. A device that vanished is no fault of the job.
    Signature("visibility", "no-device",
              r"did not correspond to any of the 0 detected device|cudaErrorNoDevice|CUDA error #100\b|hipErrorNoDevice",
              "the device can't be seen by the engine", "other", "check driver, container and visibility"),
    Signature("visibility", "driver-too-old",
              r"CUDA error #(?:35|222)\b|cudaErrorInsufficientDriver|cudaErrorUnsupportedPtxVersion",
              "driver and engine build don't fit together", "other", "renew the driver or use another build"),
    Signature("resource", "device-memory", r"cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY|hipErrorOutOfMemory",
              "the device has too little free memory", "other", "run fewer jobs on it at a time"),
    Signature("visibility", "device-fault",
              r"illegal memory access|unspecified launch failure|CUDA error #(?:700|719|214|999|46)\b|hipErrorIllegalAddress",
              "the device failed while it computed", "other", "look for Xid lines in the kernel's log"),
    Signature("visibility", "device-error", r"(?:CUDA|HIP|SYCL) error",
              "the device reported an error", "other", "read the evidence"),
    # Resources and placement.
    Signature("numerics", "cell-too-small", r"There is no domain decomposition for 1 ranks",
              "the box does not fit the cut-offs and moves of one step: unstable start or too long a time step", "no",
              STABILITY),
    Signature("resource", "no-decomposition",
              r"There is no domain decomposition for \d+ ranks|initial cell size .* is smaller than the cell size limit",
              "the system is too small for so many ranks", "same", "use fewer ranks and more threads"),
    Signature("build", "threads-contradict", r"number of threads requested .* different|not divisible",
              "OMP_NUM_THREADS and the number of threads asked for contradict each other", "no",
              "report it: the plan is wrong here"),
    Signature("resource", "memory", r"Not enough memory|std::bad_alloc|Failed to (?:re)?alloc",
              "there was too little memory", "other", "run it where there is more"),
    # Surroundings.
    Signature("substrate", "library-missing", r"error while loading shared libraries|cannot open shared object",
              "the program lacks a library on this node", "other", "probe again; check modules and containers"),
    Signature("substrate", "mpi-start", r"MPI_Init|orte_init|ORTE_ERROR_LOG",
              "MPI did not start", "other", "use a build without library MPI for runs on one node"),
    # Last, since it is only the class under which GROMACS prints many of the above.
    Signature("build", "user-input", r"(?:Error|Inconsistency) in user input|Invalid command-line options",
              "GROMACS refuses the input", "no", "read the evidence and the end of stderr"),
)  # fmt: skip

SIGNALS: dict[int, tuple[DiagnosisClass, str, str, Retry]] = {
    -4: ("visibility", "illegal-instruction", "the program was built for a newer processor", "other"),
    -6: ("unknown", "aborted", "the program aborted itself", "same"),
    -7: ("unknown", "bus-error", "memory or a mapped file went away under the program", "other"),
    -9: ("resource", "killed", "it was killed from outside: by the kernel for want of memory, or by somebody", "same"),
    -11: ("unknown", "segfault", "the program crashed", "other"),
    -24: ("resource", "cpu-limit", "a limit on processor time ended it", "no"),
    -25: ("files", "file-size-limit", "a limit on the size of files ended it", "no"),
    126: ("substrate", "not-executable", "the program can't be executed", "other"),
    127: ("substrate", "not-found", "the program is not there", "other"),
}
"""Exit code (-N: signal N) -> class, code, summary, retry, where no words tell more."""


def matches(text: str) -> list[Diagnosis]:
    """Return a diagnosis for each row of the table whose words stand in the text, by priority."""
    return [found for row in SIGNATURES if (found := _diagnosis(row, text)) is not None]


@functools.cache
def _pattern(words: str) -> re.Pattern[str]:
    """Return what finds the words also where GROMACS broke the line between two of them, as it does after 80 columns."""
    return re.compile(re.sub(r" (?![?*+{])", r"\\s+", words))


def _diagnosis(row: Signature, text: str) -> Diagnosis | None:
    match = _pattern(row.words).search(text)
    if match is None:
        return None
    return Diagnosis(
        kind=row.kind,
        code=row.code,
        summary=row.summary,
        evidence=_evidence(text, match.start()),
        retry=row.retry,
        remedy=row.remedy,
    )


def _evidence(text: str, at: int) -> str:
    """Return the telling line: where the match is the heading of a message, the message."""
    line = line_around(text, at)
    return (fatal_error(text) or line) if line in ERROR_CLASSES else line


def line_around(text: str, at: int) -> str:
    """Return the line that holds position `at`, without blanks at its ends."""
    end = text.find("\n", at)
    return text[text.rfind("\n", 0, at) + 1 : len(text) if end < 0 else end].strip()


def by_code(code: int, evidence: str) -> Diagnosis:
    """Return what the exit code alone says."""
    if code in SIGNALS:
        kind, name, summary, retry = SIGNALS[code]
        return Diagnosis(kind=kind, code=name, summary=summary, evidence=evidence, retry=retry)
    if code < 0:
        summary = f"signal {-code} ended it"
        return Diagnosis(kind="substrate", code=f"signal-{-code}", summary=summary, evidence=evidence, retry="same")
    summary = f"it ended with status {code} and none of the words that are known"
    return Diagnosis(kind="unknown", code=f"status-{code}", summary=summary, evidence=evidence, retry="no")
