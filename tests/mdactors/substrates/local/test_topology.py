"""What /sys and the cgroups say, whole, partial or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mdactors.substrates.local.affinity import Cpu
from mdactors.substrates.local.topology import read_quota, read_topology, usable_cores


def put(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_topology_is_read(tmp_path: Path) -> None:
    cpu = "sys/devices/system/cpu/cpu3"
    put(tmp_path, f"{cpu}/topology/core_cpus_list", "3,11\n")
    put(tmp_path, f"{cpu}/topology/physical_package_id", "1\n")
    (tmp_path / cpu / "node2").mkdir()
    assert read_topology([3], tmp_path) == (Cpu(number=3, siblings=(3, 11), package=1, node=2),)


def test_old_kernels_name_is_known(tmp_path: Path) -> None:
    put(tmp_path, "sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0-1\n")
    assert read_topology([0], tmp_path)[0].siblings == (0, 1)


@pytest.mark.parametrize("text", [None, "", "garbage", "\xff"])
def test_what_is_missing_is_flat(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        for name in ("core_cpus_list", "thread_siblings_list", "physical_package_id"):
            put(tmp_path, f"sys/devices/system/cpu/cpu5/topology/{name}", text)
    assert read_topology([5], tmp_path) == (Cpu(number=5, siblings=(5,)),)


@pytest.mark.parametrize(
    ("text", "quota"), [("150000 100000", 1.5), ("max 100000", None), ("", None), ("x y", None), ("5", None)]
)
def test_quota_of_version_2(tmp_path: Path, text: str, quota: float | None) -> None:
    put(tmp_path, "proc/self/cgroup", "0::/a/b\n")
    put(tmp_path, "sys/fs/cgroup/a/b/cpu.max", text)
    assert read_quota(tmp_path) == quota


def test_tightest_quota_above_us_counts(tmp_path: Path) -> None:
    put(tmp_path, "proc/self/cgroup", "0::/a/b\n")
    put(tmp_path, "sys/fs/cgroup/cpu.max", "800000 100000")
    put(tmp_path, "sys/fs/cgroup/a/cpu.max", "200000 100000")
    put(tmp_path, "sys/fs/cgroup/a/b/cpu.max", "max 100000")
    assert read_quota(tmp_path) == 2.0


@pytest.mark.parametrize(("text", "quota"), [("50000", 0.5), ("-1", None), ("", None), ("0", None)])
def test_quota_of_version_1(tmp_path: Path, text: str, quota: float | None) -> None:
    put(tmp_path, "proc/self/cgroup", "3:cpuset:/x\n4:cpu,cpuacct:/a\n0::/\n")
    put(tmp_path, "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", text)
    put(tmp_path, "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000")
    assert read_quota(tmp_path) == quota


def test_no_cgroups_no_quota(tmp_path: Path) -> None:
    assert read_quota(tmp_path) is None
    put(tmp_path, "proc/self/cgroup", "garbage\n::\n")
    assert read_quota(tmp_path) is None


def test_this_machine_has_cores_of_its_own() -> None:
    given = [cpu for core in usable_cores() for cpu in core]
    assert given
    assert len(given) == len(set(given))
    assert set(given) <= os.sched_getaffinity(0)


def test_without_sys_each_allowed_cpu_is_a_core(tmp_path: Path) -> None:
    assert usable_cores(tmp_path) == tuple((cpu,) for cpu in sorted(os.sched_getaffinity(0)))
