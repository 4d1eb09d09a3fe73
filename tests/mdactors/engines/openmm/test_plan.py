"""The plan: what is run, with what, and that everything chosen is listed."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from events.spec import AmberJob, InputFile, Settings
from mdactors.engines.openmm.job import Order
from mdactors.engines.openmm.plan import WORKER, derived_seed, plan
from mdactors.ports import PlanRequest, Situation
from tests.mdactors.engines.openmm.samples import a_capability, a_request, top_job


def order_of(request: PlanRequest) -> Order:
    return msgspec.json.decode(plan(request).files[f"attempts/{request.attempt}/worker.json"], type=Order)


def test_the_worker_is_run_by_its_path_with_an_order_in_the_attempt_s_folder() -> None:
    planned = plan(a_request(attempt=4))
    assert planned.argv == ("/opt/python", "-P", WORKER, "attempts/4/worker.json")
    assert Path(WORKER).is_absolute()
    assert Path(WORKER).is_file()
    assert (planned.stop_signal, planned.grace_seconds) == (15, 120.0)


def test_threads_are_named_in_the_order_and_in_the_environment() -> None:
    planned = plan(a_request(spec=top_job(ntomp=1)))
    assert planned.variables == {"OPENMM_CPU_THREADS": "1", "OMP_NUM_THREADS": "1"}
    assert order_of(a_request(spec=top_job(ntomp=1))).properties == {"Threads": "1"}
    assert order_of(a_request()).threads == 2


def test_an_accelerator_is_always_the_first_one_visible() -> None:
    request = a_request(capability=a_capability(backend="CUDA", precision="double", device="cuda:3"))
    assert order_of(request).properties == {"DeviceIndex": "0", "Precision": "double"}


@pytest.mark.parametrize(
    ("backend", "properties", "asked"),
    [
        ("CPU", "Threads DeterministicForces", {"DeterministicForces": "true"}),
        ("CUDA", "DeviceIndex Precision DeterministicForces", {"DeterministicForces": "true"}),
        ("OpenCL", "DeviceIndex Precision", {}),
        ("Reference", "", {}),
    ],
)
def test_what_is_to_be_deterministic_is_asked_of_platforms_that_can(
    backend: str, properties: str, asked: dict[str, str]
) -> None:
    capability = a_capability(backend=backend, features={"properties": properties})
    usual = order_of(a_request(capability=capability)).properties
    assert "DeterministicForces" not in usual
    request = a_request(spec=top_job(deterministic=True), capability=capability)
    assert order_of(request).properties == usual | asked
    assert ("DeterministicForces=true" in plan(request).added) is bool(asked)


def test_reference_takes_no_properties() -> None:
    order = order_of(a_request(capability=a_capability(backend="Reference", precision="double")))
    assert (order.platform, order.properties) == ("Reference", {})


def test_inputs_are_named_below_inputs_and_includes_are_found_by_themselves() -> None:
    files = (*a_request().inputs, InputFile("include", "ff/a.itp", "", "d", 1))
    assert order_of(a_request(inputs=files)).inputs == {
        "gro": "inputs/conf.gro", "top": "inputs/topol.top", "mdp": "inputs/run.mdp",
    }  # fmt: skip


def test_an_open_seed_follows_from_the_job_s_number_and_is_listed() -> None:
    planned = plan(a_request())
    assert order_of(a_request()).seed == derived_seed(3)
    assert f"seed={derived_seed(3)} (where the input leaves it open)" in planned.added
    assert {"OMP_NUM_THREADS=2", "Platform=CPU", "Threads=2"} <= set(planned.added)


def test_a_given_seed_stays() -> None:
    spec = AmberJob(prmtop="a", inpcrd="b", nsteps=5, settings=Settings(seed=99))
    assert order_of(a_request(spec, {"prmtop": "a", "inpcrd": "b"})).seed == 99


def test_seeds_differ_between_jobs_and_fit_into_32_bits() -> None:
    seeds = {derived_seed(job) for job in range(1000)}
    assert len(seeds) == 1000
    assert all(0 < seed < 2**31 for seed in seeds)


def test_a_checkpoint_belongs_to_inputs_and_settings_but_not_to_the_length() -> None:
    base = order_of(a_request()).identity
    assert order_of(a_request(spec=top_job(nsteps=77), attempt=2)).identity == base
    changed = tuple(msgspec.structs.replace(file, sha256="other") for file in a_request().inputs)
    assert order_of(a_request(inputs=changed)).identity != base
    assert order_of(a_request(job=4)).identity != base  # another seed


def test_output_intervals_do_not_change_the_identity_but_physics_does() -> None:
    def identity(**settings: object) -> str:
        spec = AmberJob(prmtop="a", inpcrd="b", nsteps=5, settings=Settings(**settings))  # type: ignore[arg-type]  # what fits
        return order_of(a_request(spec, {"prmtop": "a", "inpcrd": "b"})).identity

    assert identity() == identity(report_steps=7, trajectory_steps=3)
    assert identity() != identity(timestep_fs=1.0)


def test_stale_files_are_set_aside() -> None:
    assert plan(a_request(situation=Situation(stale=("state.xml",)))).set_aside == ("state.xml",)
