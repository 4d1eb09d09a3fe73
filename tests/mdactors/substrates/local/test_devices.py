"""Devices: the CPU, and what `nvidia-smi` says, or fails to say."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdactors.substrates.local.devices import (
    cpu_name,
    find_devices,
    memory_bytes,
    near_cpus,
    parse_nvidia_smi,
    share_cores,
)
from mdactors.substrates.local.run import LocalRun

H200 = "0, GPU-11111111-2222-3333-4444-555555555555, NVIDIA H200, 143771, 590.48.01, 00000000:83:00.0\n"
GB10 = "1, GPU-66666666-7777-8888-9999-000000000000, NVIDIA GB10, [N/A], 580.95.05, 0000000F:01:00.0\n"
NAMELESS = "2, [N/A], NVIDIA A100-SXM4-80GB, 81920, [Unknown Error], 00000000:07:00.0\n"


def smi(folder: Path, script: str) -> LocalRun:
    """Return a `run` on whose search path `nvidia-smi` is this script."""
    tool = folder / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    return LocalRun({"PATH": f"{folder}:/usr/bin:/bin"})


def test_gpus_are_read_in_pci_order() -> None:
    gpus = parse_nvidia_smi(H200 + GB10 + NAMELESS)
    assert [gpu.bus_id for gpu in gpus] == ["0000:07:00.0", "0000:83:00.0", "000f:01:00.0"]
    assert [gpu.memory_bytes for gpu in gpus] == [81920 * 1024**2, 143771 * 1024**2, 0]
    assert (gpus[0].uuid, gpus[0].driver) == ("", "")
    assert (gpus[1].name, gpus[1].driver) == ("NVIDIA H200", "590.48.01")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "No devices were found\n",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n",
        "Unable to determine the device handle for GPU0000:83:00.0: Unknown Error\n",
        "a, b, c, d, e, f\n",
        ",,,,,\n",
        "index, uuid, name, memory.total [MiB], driver_version, pci.bus_id\n",
    ],
)
def test_other_lines_are_no_gpus(text: str) -> None:
    assert parse_nvidia_smi(text) == ()
    assert len(parse_nvidia_smi(text + H200)) == 1


@given(st.text())
def test_garbage_is_no_gpu(text: str) -> None:
    assert parse_nvidia_smi(text) == ()


async def test_gpus_come_first_and_take_the_numbers(tmp_path: Path) -> None:
    run = smi(tmp_path, f"cat <<'E'\n{H200}{NAMELESS}E")
    devices = await find_devices("n", run)
    assert [(device.id, device.index, device.type) for device in devices] == [
        ("cuda:0", 0, "cuda"),
        ("cuda:1", 1, "cuda"),
        ("cpu:0", None, "cpu"),
    ]
    assert devices[1].uuid == "GPU-11111111-2222-3333-4444-555555555555"
    given_out = [cpu for device in devices for cpu in device.cpus]
    assert len(given_out) == len(set(given_out))


@pytest.mark.parametrize(
    "script", ["exit 9", "echo garbage", f"echo '{H200.strip()}'; exit 15", "kill -9 $$", "printf '\\377'"]
)
async def test_broken_tool_leaves_the_cpu(tmp_path: Path, script: str) -> None:
    devices = await find_devices("n", smi(tmp_path, script))
    assert [(device.id, device.index) for device in devices] == [("cpu:0", 0)]


async def test_tool_that_hangs_costs_a_second(tmp_path: Path) -> None:
    begun = time.monotonic()
    devices = await find_devices("n", smi(tmp_path, f"echo '{H200.strip()}'; sleep 60"))
    assert [device.id for device in devices] == ["cpu:0"]
    assert time.monotonic() - begun < 3


async def test_cpu_is_described() -> None:
    (cpu,) = await find_devices("n", LocalRun({"PATH": "/nowhere"}))
    assert (cpu.id, cpu.node, cpu.type, cpu.index) == ("cpu:0", "n", "cpu", 0)
    assert cpu.name
    assert cpu.memory_bytes > 10**8
    assert set(cpu.cpus) <= os.sched_getaffinity(0)


def test_shares_are_disjoint_and_near() -> None:
    cores = [(cpu,) for cpu in range(12)]
    shares, rest = share_cores(cores, [(8, 9, 10, 11), (0, 1, 2, 3), ()])
    assert shares == [[(8,), (9,), (10,)], [(0,), (1,), (2,)], [(3,), (4,), (5,)]]
    assert rest == [(6,), (7,), (11,)]


@given(st.integers(0, 64), st.lists(st.sets(st.integers(0, 63)), max_size=9))
def test_no_core_is_shared(number: int, near: list[set[int]]) -> None:
    cores = [(cpu,) for cpu in range(number)]
    shares, rest = share_cores(cores, [tuple(cpus) for cpus in near])
    assert sorted(core for share in (*shares, rest) for core in share) == cores
    assert len(shares) == len(near)


def test_missing_files_say_nothing(tmp_path: Path) -> None:
    assert near_cpus("0000:83:00.0", tmp_path) == ()
    assert memory_bytes(tmp_path) == 0
    assert cpu_name(tmp_path)


def test_near_cpus_are_the_kernels(tmp_path: Path) -> None:
    folder = tmp_path / "sys/bus/pci/devices/0000:83:00.0"
    folder.mkdir(parents=True)
    (folder / "local_cpulist").write_text("0-3\n")
    assert near_cpus("0000:83:00.0", tmp_path) == (0, 1, 2, 3)
