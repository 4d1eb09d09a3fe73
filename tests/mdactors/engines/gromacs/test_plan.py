from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.spec import AmberJob, AnyJobSpec, InputFile
from mdactors.engines.gromacs.plan import STEPOUT_MAX, STEPOUT_MIN, plan, steps_between_lines
from mdactors.ports import LaunchPlan, PlanRequest, Situation
from tests.mdactors.engines.gromacs.conftest import SLOT, TOP_INPUTS, TOP_JOB, TPR_INPUT, TPR_JOB, a_capability

FRESH = Situation()


def planned(
    spec: AnyJobSpec = TPR_JOB,
    *,
    inputs: tuple[InputFile, ...] = (TPR_INPUT,),
    situation: Situation = FRESH,
    capability: Mapping[str, object] | None = None,
) -> LaunchPlan:
    return plan(
        PlanRequest(
            job=7,
            attempt=1,
            spec=spec,
            inputs=inputs,
            capability=a_capability(**(capability or {})),
            slot=SLOT,
            situation=situation,
            folder="/jobs/7",
            cache="/cache",
        )
    )


def with_steps(spec: AnyJobSpec, steps: int) -> AnyJobSpec:
    return msgspec.structs.replace(spec, nsteps=steps)


def test_a_first_start() -> None:
    found = planned()
    assert found.argv == (
        *("/usr/bin/gmx", "-quiet", "mdrun", "-s", "topol.tpr"),
        *("-ntmpi", "1", "-ntomp", "2", "-pin", "off", "-v", "-stepout", "1000"),
    )
    assert (found.prepare, found.set_aside, found.files) == ((), (), {})
    assert found.links == {"topol.tpr": "/jobs/7/inputs/nvt.tpr"}
    assert found.stop_signal == 15
    assert found.grace_seconds == 60.0
    assert found.variables["OMP_NUM_THREADS"] == "2"


def test_what_is_to_be_deterministic_is_run_reproducibly_and_says_so() -> None:
    asked = planned(msgspec.structs.replace(TPR_JOB, deterministic=True))
    assert "-reprod" in asked.argv
    assert "-reprod" in asked.added
    assert [word for word in asked.argv if word != "-reprod"] == list(planned().argv)


def test_a_continuation_demands_its_checkpoint() -> None:
    found = planned(situation=Situation(step=10, checkpoint="state.cpt"))
    assert found.argv[-3:] == ("-cpi", "state.cpt", "-append")


def test_from_the_older_checkpoint_the_next_goes_under_the_usual_name() -> None:
    found = planned(situation=Situation(step=10, checkpoint="state_prev.cpt", stale=("state.cpt",)))
    assert found.argv[-5:] == ("-cpi", "state_prev.cpt", "-cpo", "state.cpt", "-append")
    assert found.set_aside == ("state.cpt",)


def test_the_total_length_is_written_into_the_run_input() -> None:
    found = planned(with_steps(TPR_JOB, 40_000))
    (convert,) = found.prepare
    assert convert.argv == (
        *("/usr/bin/gmx", "-quiet", "convert-tpr", "-s", "/jobs/7/inputs/nvt.tpr"),
        *("-nsteps", "40000", "-o", "out.tpr"),
    )
    assert convert.makes == "out.tpr"
    assert found.links == {"topol.tpr": convert.product}
    assert convert.product.startswith("/cache/")
    assert found.argv[-1] == "200"


def test_topology_and_settings_become_a_run_input() -> None:
    found = planned(TOP_JOB, inputs=TOP_INPUTS)
    (grompp,) = found.prepare
    assert grompp.argv == (
        *("/usr/bin/gmx", "-quiet", "grompp", "-f", "/jobs/7/inputs/nvt.mdp", "-c", "/jobs/7/inputs/conf.gro"),
        *("-p", "/jobs/7/inputs/topol.top", "-maxwarn", "1", "-o", "out.tpr", "-po", "mdout.mdp"),
    )
    assert grompp.warnings_max == 0
    assert found.links == {"topol.tpr": grompp.product}


def test_warnings_that_the_user_takes_on_are_their_own_and_make_another_run_input() -> None:
    strict, lenient = (
        planned(msgspec.structs.replace(TOP_JOB, maxwarn=most), inputs=TOP_INPUTS).prepare[0] for most in (0, 2)
    )
    assert lenient.warnings_max == 2
    assert lenient.argv[lenient.argv.index("-maxwarn") + 1] == str(2 + len(lenient.tolerates))
    assert strict.product != lenient.product


def test_a_length_of_its_own_takes_a_second_step() -> None:
    found = planned(with_steps(TOP_JOB, 0), inputs=TOP_INPUTS)
    grompp, convert = found.prepare
    assert convert.argv[4:7] == (grompp.product, "-nsteps", "0")
    assert found.links == {"topol.tpr": convert.product}


def test_a_derived_input_is_named_by_all_that_it_depends_on() -> None:
    def product(steps: int = 10, sha256: str = "ab", **capability: str) -> str:
        changed = InputFile(role="tpr", name="nvt.tpr", path="/x", sha256=sha256, size=1)
        return planned(with_steps(TPR_JOB, steps), inputs=(changed,), capability=capability).prepare[0].product

    same = product()
    assert product() == same
    others = [
        product(11),
        product(sha256="cd"),
        product(version="2024.1"),
        product(precision="double"),
        product(fingerprint="f"),
    ]
    assert len({same, *others}) == 6


def test_an_include_that_changed_makes_another_run_input() -> None:
    include = InputFile(role="include", name="water.itp", path="/x", sha256="1", size=1)
    changed = msgspec.structs.replace(include, sha256="2")
    products = {planned(TOP_JOB, inputs=(*TOP_INPUTS, file)).prepare[0].product for file in (include, changed)}
    assert len(products) == 2


@pytest.mark.parametrize("mpi", ["MPI", "MPI (CUDA-aware)", "none"])
def test_builds_without_thread_mpi_take_no_ntmpi(mpi: str) -> None:
    assert "-ntmpi" not in planned(capability={"features": {"MPI library": mpi}}).argv


def test_a_gpu_build_on_the_cpu_is_told_to_stay_there() -> None:
    features = {"MPI library": "thread_mpi", "GPU support": "CUDA"}
    on_cpu = planned(capability={"features": features})
    on_gpu = planned(capability={"features": features, "backend": "CUDA", "device": "cuda:1"})
    assert on_cpu.argv[on_cpu.argv.index("-nb") + 1] == "cpu"
    assert not {"-nb", "-gpu_id"} & set(on_gpu.argv)


def test_threads_as_asked_for() -> None:
    found = planned(msgspec.structs.replace(TPR_JOB, ntomp=1))
    assert found.argv[found.argv.index("-ntomp") + 1] == found.variables["OMP_NUM_THREADS"] == "1"


def test_another_engines_job_is_a_fault_of_ours() -> None:
    with pytest.raises(TypeError, match="AmberJob"):
        planned(AmberJob(prmtop="a", inpcrd="b"))


@given(
    st.sampled_from([TPR_JOB, TOP_JOB]),
    st.none() | st.integers(0, 10**9),
    st.sampled_from(["", "state.cpt", "state_prev.cpt"]),
)
def test_rules_of_every_plan(spec: AnyJobSpec, steps: int | None, checkpoint: str) -> None:
    inputs = (TPR_INPUT,) if spec is TPR_JOB else TOP_INPUTS
    found = planned(
        msgspec.structs.replace(spec, nsteps=steps), inputs=inputs, situation=Situation(checkpoint=checkpoint)
    )
    assert not {"-deffnm", "-nsteps", "-maxh", "-maxwarn", "-noappend"} & set(found.argv)
    assert ("-cpi" in found.argv) is ("-append" in found.argv) is bool(checkpoint)
    assert not [word for word in found.argv[1:] if word.startswith("/")]
    told = " ".join(found.added)
    assert all(word in told for word in (*found.argv[1:2], *found.argv[3:]))
    assert all(f"{name}={value}" in found.added for name, value in found.variables.items())
    assert len(found.prepare) == (spec is TOP_JOB) + (steps is not None)
    assert not [word for word in told.split() if word.startswith("/")]


@given(st.integers(0, 10**12))
def test_lines_of_progress_are_neither_rare_nor_many(total: int) -> None:
    assert STEPOUT_MIN <= steps_between_lines(total) <= STEPOUT_MAX
