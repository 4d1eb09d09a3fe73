"""GROMACS versions: how they are written, compared, and which run inputs each can read.

`parse_version` reads what `gmx --version` prints, and the same block at the head of md.log, by label and never by
column: the width of the columns grew by one in 2024. Labels that are not known here are kept.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

Mpi = Literal["thread_mpi", "library", "none"]

VERSION_LABEL = "gromacs version"

ONE_LINE_LABELS = (
    "GROMACS version", "Precision", "Memory model", "MPI library version", "MPI library", "MPI version",
    "OpenMP support", "GPU support", "OpenCL support", "NB cluster size", "NBNxM GPU setup", "SIMD instructions",
    "CPU FFT library", "GPU FFT library", "Multi-GPU FFT", "FFT library", "RDTSCP usage", "TNG support",
    "Hwloc support", "Tracing support", "C compiler flags", "C++ compiler flags", "C compiler", "C++ compiler",
    "BLAS library", "LAPACK library", "CUDA compiler flags", "CUDA compiler", "CUDA driver", "CUDA runtime",
    "CUDA targets", "HIP compiler flags", "HIP compiler", "HIP driver/runtime", "SYCL version", "SYCL compiler flags",
    "SYCL compiler", "SYCL linker flags", "SYCL targets", "Built on", "Built by",
)  # fmt: skip
"""Labels by which an output is taken apart whose line ends were lost (job logs of containers)."""

ONE_LINE = re.compile("(?:^|(?<=\\s))(" + "|".join(re.escape(label) for label in ONE_LINE_LABELS) + "):")

TPX_FORMATS: dict[tuple[int, ...], tuple[int, int]] = {
    (5, 0): (100, 26),
    (5, 1): (103, 26),
    (2016,): (110, 26),
    (2018,): (112, 26),
    (2019,): (116, 26),
    (2020,): (119, 27),
    (2021,): (122, 28),
    (2022,): (127, 28),
    (2023,): (129, 28),
    (2024,): (133, 28),
    (2024, 4): (134, 28),  # a patch release raised it
    (2025,): (137, 28),
    (2026,): (138, 29),
    (2027,): (139, 29),  # the development branch after 2026
}
"""First version -> greatest tpr format and generation that it reads (`tpx_version` and `tpx_generation`, tpxio.cpp)."""

BACKENDS = ("CUDA", "HIP", "SYCL", "OpenCL", "MUSA")


class Build(msgspec.Struct, frozen=True, kw_only=True):
    """What one build of GROMACS says of itself."""

    raw: str
    """`2022.5-Debian_2022.5_2`"""
    labels: dict[str, str]
    """Every line that it printed, by label."""

    @property
    def version(self) -> str:
        """Comparable version: `2022.5`."""
        return ".".join(str(number) for number in self.numbers)

    @property
    def numbers(self) -> tuple[int, ...]:
        """(year, patch), or three numbers before 2016; () where it has none."""
        return version_numbers(self.raw)

    @property
    def precision(self) -> Literal["mixed", "double"]:
        """`single` was the word for mixed up to 2020."""
        return "double" if self.labels.get("Precision", "").lower() == "double" else "mixed"

    @property
    def backend(self) -> str:
        """`CPU`, or the one GPU backend that it was built with."""
        return backend_of(self.labels.get("GPU support", ""))

    @property
    def mpi(self) -> Mpi:
        """`library` stands for every real MPI: such a build takes no `-ntmpi`."""
        text = self.labels.get("MPI library", "none").lower()
        if text.startswith("thread"):
            return "thread_mpi"
        return "library" if text.startswith("mpi") else "none"

    @property
    def openmp_threads_max(self) -> int:
        """Greatest number of OpenMP threads in one rank; 1 without OpenMP."""
        text = self.labels.get("OpenMP support", "")
        match = re.search(r"=\s*(\d+)", text)
        if match:
            return int(match.group(1))
        return 64 if text.startswith("enabled") else 1

    @property
    def missing_driver(self) -> str:
        """The line by which it says that the driver of its backend is not there; empty: it says no such thing."""
        for label in ("CUDA driver", "HIP driver/runtime", "HIP driver"):
            value = self.labels.get(label, "")
            if value.startswith("N/A") or value in {"0.0", "0"}:
                return f"{label}: {value}"
        return ""


def backend_of(text: str) -> str:
    """Return the backend behind the words after `GPU support:`.

    `enabled` was CUDA in 4.6 and 5.0; SYCL names its compiler in brackets.
    """
    word = text.strip().lower()
    if word == "enabled":
        return "CUDA"
    return next((name for name in BACKENDS if word.startswith(name.lower())), "CPU")


def version_numbers(text: str) -> tuple[int, ...]:
    """Return the numbers at the start of a version: `2022.5-Debian_2022.5_2` -> (2022, 5); () where there are none."""
    match = re.match(r"(?:VERSION\s+)?(\d+(?:\.\d+)*)", text.strip())
    return tuple(int(part) for part in match.group(1).split(".")) if match else ()


def tpx_limits(numbers: tuple[int, ...]) -> tuple[int, int]:
    """Return the greatest tpr format and generation that a version reads; (0, 0) for versions without a `gmx`."""
    fitting = [first for first in TPX_FORMATS if first <= numbers]
    return TPX_FORMATS[max(fitting)] if fitting else (0, 0)


def parse_version(text: str) -> Build | None:
    """Read the output of `gmx --version` or the head of an md.log; None where it states no version.

    Only the block that begins with `GROMACS version:` counts; it ends at the first empty line.
    """
    labels: dict[str, str] = {}
    for line in text.splitlines():
        if not labels and VERSION_LABEL not in line.lower():
            continue
        pairs = _pairs(line)
        if not labels and not any(label.lower() == VERSION_LABEL for label, _ in pairs):
            continue
        if labels and not line.strip():
            break
        for label, value in pairs:
            labels.setdefault(label, value)
    raw = next((value for label, value in labels.items() if label.lower() == VERSION_LABEL), "")
    raw = raw.removeprefix("VERSION").strip()
    return Build(raw=raw, labels=labels) if version_numbers(raw) else None


def _pairs(line: str) -> list[tuple[str, str]]:
    """Take a line apart into labels and values: one pair, or many where line ends were lost."""
    marks = list(ONE_LINE.finditer(line))
    if len(marks) > 2:
        ends = [mark.start() for mark in marks[1:]] + [len(line)]
        return [(mark.group(1), line[mark.end() : end].strip()) for mark, end in zip(marks, ends, strict=True)]
    label, colon, value = line.partition(":")
    return [(label.strip(), value.strip())] if colon and label.strip() else []
