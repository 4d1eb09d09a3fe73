"""The words between platform and worker keep their form on the way."""

from __future__ import annotations

import msgspec
import pytest

from mdactors.engines.openmm import job
from tests.mdactors.engines.openmm.samples import an_order


def test_an_order_comes_out_as_it_went_in() -> None:
    order = an_order(nsteps=5, properties={"Threads": "2"})
    assert msgspec.json.decode(msgspec.json.encode(order), type=job.Order) == order


def test_an_order_of_a_newer_platform_is_refused() -> None:
    fields = msgspec.to_builtins(an_order()) | {"brand_new": 1}
    with pytest.raises(msgspec.ValidationError, match="brand_new"):
        msgspec.convert(fields, job.Order)


def test_exit_codes_are_distinct_and_none_is_a_shell_s_or_a_signal_s() -> None:
    codes = [job.COMPLETED, job.UNEXPECTED, job.STOPPED, job.NUMERICS, job.INPUT, job.ENGINE, job.DISK]
    assert len(set(codes)) == len(codes)
    assert all(code < 126 for code in codes)


def test_names_of_parts_sort_by_attempt() -> None:
    names = [job.energy_part(attempt) for attempt in (1, 2, 10, 100)]
    assert names == sorted(names)
    assert job.trajectory_part(7) == "traj.part0007.xtc"
    assert (job.order_file(2), job.progress_file(2), job.result_file(2)) == (
        "attempts/2/worker.json", "attempts/2/progress.jsonl", "attempts/2/result.json",
    )  # fmt: skip
