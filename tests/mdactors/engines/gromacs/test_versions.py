from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdactors.engines.gromacs.files import text_of
from mdactors.engines.gromacs.versions import backend_of, parse_version, tpx_limits, version_numbers
from tests.mdactors.engines.gromacs.conftest import corpus_bytes, params

BACKENDS = {"disabled": "CPU", "": "CPU", "enabled": "CUDA"}


@pytest.mark.parametrize("row", params("gmx-version"))
def test_real_outputs(row: dict[str, str]) -> None:
    build = parse_version(text_of(corpus_bytes(row["file"])))
    assert build is not None
    assert build.raw == row["engine_version"]
    assert build.labels["Precision"] == row["precision"]
    assert build.labels["GPU support"] == row["gpu_support"]
    assert build.labels["MPI library"] == row["mpi"]
    assert build.precision == ("double" if row["precision"] == "double" else "mixed")
    assert build.backend == BACKENDS.get(row["gpu_support"], row["gpu_support"].split()[0])
    assert build.mpi == ("thread_mpi" if row["mpi"] == "thread_mpi" else "library")
    for fact in row["other"].split("; "):
        name, _, value = fact.partition("=")
        if name == "OpenMP max":
            assert build.openmp_threads_max == int(value)
        if name == "SIMD":
            assert build.labels["SIMD instructions"] == value


@pytest.mark.parametrize("row", params("gromacs-log"))
def test_heads_of_real_logs(row: dict[str, str]) -> None:
    build = parse_version(text_of(corpus_bytes(row["file"]))[:60_000])
    if not row["gpu_support"]:
        assert build is None or build.labels.get("GPU support", "") == ""
        return
    assert build is not None
    found = (build.raw, build.labels["GPU support"], build.labels["MPI library"])
    assert found == (row["engine_version"], row["gpu_support"], row["mpi"])


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("CUDA driver:        N/A", "CUDA driver: N/A"),
        ("CUDA driver:        0.0", "CUDA driver: 0.0"),
        ("HIP driver/runtime:   N/A", "HIP driver/runtime: N/A"),
        ("CUDA driver:        12.60", ""),
    ],
)
def test_a_build_says_when_its_driver_is_not_there(text: str, missing: str) -> None:
    build = parse_version(f"GROMACS version:    2025.2\nGPU support:  CUDA\n{text}\n")
    assert build is not None
    assert build.missing_driver == missing


def test_a_container_without_driver_on_one_line() -> None:
    build = parse_version(text_of(corpus_bytes("gmxver_2021_plumed_container.txt")))
    assert build is not None
    assert build.missing_driver == "CUDA driver: 0.0"
    assert build.labels["CUDA runtime"] == "N/A"


def test_labels_that_nobody_knows_are_kept_and_columns_do_not_matter() -> None:
    build = parse_version(
        "junk: x\nGROMACS version: 2031.1\n Precision:mixed\nQuantum support:      yes: two\n\nlater: x"
    )
    assert build is not None
    assert build.labels == {"GROMACS version": "2031.1", "Precision": "mixed", "Quantum support": "yes: two"}


@pytest.mark.parametrize("text", ["", "hello", "GROMACS version:\n", "GROMACS version: unknown\n", "Precision: mixed"])
def test_what_states_no_version_is_no_build(text: str) -> None:
    assert parse_version(text) is None


@given(st.text(max_size=300))
def test_any_text_is_survived(text: str) -> None:
    build = parse_version(text)
    assert build is None or build.numbers


@pytest.mark.parametrize(
    ("raw", "numbers", "limits"),
    [
        ("5.1.1", (5, 1, 1), (103, 26)),
        ("2016.3", (2016, 3), (110, 26)),
        ("2018.8", (2018, 8), (112, 26)),
        ("2019.6", (2019, 6), (116, 26)),
        ("2020", (2020,), (119, 27)),
        ("2021-plumed-2.7.2", (2021,), (122, 28)),
        ("2022.5-Debian_2022.5_2", (2022, 5), (127, 28)),
        ("2023.3-conda_forge", (2023, 3), (129, 28)),
        ("2024.1", (2024, 1), (133, 28)),
        ("2024.4-EasyBuild_5.1.0", (2024, 4), (134, 28)),
        ("2024.10", (2024, 10), (134, 28)),
        ("2025.0-dev-20250210-69496154f8", (2025, 0), (137, 28)),
        ("2026.0-conda_forge", (2026, 0), (138, 29)),
        ("2040.1", (2040, 1), (139, 29)),
        ("VERSION 4.5.5", (4, 5, 5), (0, 0)),
    ],
)
def test_numbers_and_the_run_inputs_that_they_read(raw: str, numbers: tuple[int, ...], limits: tuple[int, int]) -> None:
    assert version_numbers(raw) == numbers
    assert tpx_limits(numbers) == limits


@pytest.mark.parametrize(
    ("text", "backend"),
    [
        ("disabled", "CPU"),
        ("enabled", "CUDA"),
        ("CUDA", "CUDA"),
        ("SYCL (hipSYCL)", "SYCL"),
        ("SYCL (oneAPI DPC++)", "SYCL"),
        ("HIP", "HIP"),
        ("OpenCL", "OpenCL"),
        ("MUSA", "MUSA"),
        ("", "CPU"),
    ],
)
def test_backends_by_one_name(text: str, backend: str) -> None:
    assert backend_of(text) == backend


def test_a_build_without_openmp_has_one_thread() -> None:
    build = parse_version("GROMACS version: 2022.5\nOpenMP support: disabled\n")
    assert build is not None
    assert build.openmp_threads_max == 1
