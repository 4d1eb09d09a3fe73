"""Who can run a job, in which order, and why the others can't."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from events.base import Event, Record
from events.devices import CapabilitiesProbed, DeviceRecovered, DeviceUnhealthy
from events.hardware import Absence, Capability
from events.jobs import JobAccepted, JobRejected
from events.outcome import Examination, Refusal, Requirement
from events.platform import PlatformStarted, Policy
from events.spec import GromacsTopJob, MDJobSpec, TprJob
from mdactors.core.capabilities import Matrix
from mdactors.core.effects import Publish
from mdactors.core.negotiation import SATISFIES, Choice, NegotiatorCore, negotiate
from tests.builders import START, Story, a_capability, a_device, a_node, a_slot, a_spec, a_submission, an_acceptance

GMX = a_capability()
GMX_D = a_capability(precision="double")
OPENMM = a_capability(engine="openmm", version="8.1", kinds=("gromacs-top", "openmm", "amber"))
TOP = GromacsTopJob(gro="a.gro", top="a.top", mdp="a.mdp")


def matrix_of(*events: Event) -> Matrix:
    matrix = Matrix()
    for seq, event in enumerate(events, 1):
        matrix.apply(Record(seq, START, 0, event))
    return matrix


def negotiated(spec: Any, node: CapabilitiesProbed, *examinations: Examination) -> Choice:
    return negotiate(spec, examinations, matrix_of(node))


def chosen(spec: Any, *rows: Capability) -> list[str]:
    """The capabilities that will do, best first."""
    return [each.capability for each in negotiated(spec, a_node(*rows)).candidates]


def refused(spec: Any, *rows: Capability) -> list[Refusal]:
    choice = negotiated(spec, a_node(*rows))
    assert choice.candidates == ()
    return list(choice.refusals)


# ---------------------------------------------------------------- precision


def test_double_is_never_chosen_by_accident() -> None:
    assert chosen(a_spec(), GMX_D, GMX) == [GMX.id]
    assert chosen(a_spec(precision="any"), GMX_D, GMX) == [GMX.id, GMX_D.id]


def test_double_is_never_refused_silently() -> None:
    (refusal,) = refused(a_spec(precision="double"), GMX)
    assert refusal.text() == (
        "gromacs@2022.5/CPU/mixed@n0/cpu:0: the job asks for double precision; this build computes in mixed precision"
    )


@pytest.mark.parametrize(
    ("asked", "will_do"),
    [
        ("mixed", ["mixed"]),
        ("single", ["single", "mixed"]),
        ("double", ["double"]),
        ("any", ["mixed", "single", "double"]),
    ],
)
def test_what_precision_satisfies_what(asked: str, will_do: list[str]) -> None:
    rows = [a_capability(precision=precision) for precision in ("double", "single", "mixed")]
    by_id = {row.id: row.precision for row in rows}
    assert [by_id[name] for name in chosen(a_spec(precision=asked), *rows)] == will_do


def test_the_preferred_precision_comes_before_speed() -> None:
    fast = a_capability(precision="double", speed=100)
    assert chosen(a_spec(precision="any"), fast, GMX) == [GMX.id, fast.id]


# ---------------------------------------------------------------- engine, kind, platform


def test_without_a_preference_engines_are_negotiated() -> None:
    assert set(chosen(TOP, GMX, OPENMM)) == {GMX.id, OPENMM.id}
    assert chosen(TprJob(tpr="a.tpr", backend_pref=None), GMX, OPENMM) == [GMX.id]


def test_a_preference_is_kept() -> None:
    assert chosen(msgspec.structs.replace(TOP, backend_pref="openmm"), GMX, OPENMM) == [OPENMM.id]
    (refusal,) = refused(a_spec(backend_pref="openmm"), GMX)[:1]
    assert (refusal.clause, refusal.text()) == (
        "engine",
        f"{GMX.id}: the job asks for engine 'openmm'; this is gromacs",
    )


def test_a_preferred_engine_that_is_absent_is_named_with_what_was_looked_for() -> None:
    absence = Absence(engine="gromacs", what="gmx", why="not on PATH", remedy="apt install gromacs")
    node = a_node(OPENMM, absences=(absence, Absence(engine="lammps", what="lmp", why="not on PATH")))
    refusals = negotiated(a_spec(backend_pref="gromacs"), node).refusals
    assert [refusal.text() for refusal in refusals] == [
        f"{OPENMM.id}: the job asks for engine 'gromacs'; this is openmm",
        "gromacs: gmx: not on PATH (apt install gromacs)",
    ]


def test_an_engine_that_nobody_knows_is_answered_with_those_that_are_known() -> None:
    last = refused(a_spec(backend_pref="gromax"), GMX, OPENMM)[-1]
    assert last.text() == "engine 'gromax': no engine of this name is known; known: gromacs, openmm"


def test_a_kind_is_run_by_those_who_can_read_it() -> None:
    (refusal,) = refused(a_spec(), OPENMM)
    assert refusal.text().endswith("the job asks for kind 'tpr'; openmm 8.1 runs gromacs-top, openmm, amber")


def test_an_engine_that_knows_better_says_why_it_can_not_read_the_kind() -> None:
    why = Refusal(subject="openmm", clause="kind", found="a tpr can only be read by GROMACS")
    (refusal,) = negotiated(a_spec(), a_node(OPENMM), Examination(engine="openmm", refusals=(why,))).refusals
    assert refusal.text() == f"{OPENMM.id}: a tpr can only be read by GROMACS"


def test_a_platform_is_named_in_any_case() -> None:
    cuda = a_capability("cuda:0", backend="CUDA")
    assert chosen(a_spec(platform_hint="cuda"), GMX, cuda) == [cuda.id]
    (refusal,) = refused(a_spec(platform_hint="HIP"), GMX)
    assert refusal.text().endswith("the job asks for platform 'HIP'; this is CPU")


# ---------------------------------------------------------------- devices and threads


def on_devices(spec: Any) -> list[str]:
    """Where a job may run on a node with a CPU and two accelerators."""
    devices = (
        a_device("cpu:0", index=None),
        a_device("cuda:0", uuid="GPU-a"),
        a_device("cuda:1", index=1, uuid="GPU-b"),
    )
    node = a_node(slots={"cpu:0": 1, "cuda:0": 1, "cuda:1": 1}, devices=devices)
    return [each.device for each in negotiated(spec, node).candidates]


@pytest.mark.parametrize(
    ("asked", "devices"),
    [
        (None, ["cpu:0", "cuda:0", "cuda:1"]),
        ("any", ["cpu:0", "cuda:0", "cuda:1"]),
        (1, ["cuda:1"]),
        ("1", ["cuda:1"]),
        ("cpu:0", ["cpu:0"]),
        ("GPU-a", ["cuda:0"]),
        (2, []),
        ("", []),
        ("None", []),
    ],
)
def test_a_device_is_asked_for_by_number_id_or_uuid(asked: Any, devices: list[str]) -> None:
    assert on_devices(a_spec(device=asked)) == devices


def test_device_7_on_a_machine_with_none_is_told_what_there_is() -> None:
    (refusal,) = refused(a_spec(device=7), GMX)
    assert (refusal.clause, refusal.text()) == (
        "device",
        f"{GMX.id}: the job asks for device 7; this runs on cpu:0; on node n0, cpu:0 is device 0",
    )


def test_a_cpu_beside_accelerators_has_no_number_but_a_name() -> None:
    devices = (a_device("cpu:0", index=None), a_device("cuda:0"))
    node = a_node(GMX, slots={"cpu:0": 1, "cuda:0": 1}, devices=devices)
    (refusal,) = negotiated(a_spec(device=0), node).refusals
    assert "cpu:0 is asked for by its name, cuda:0 is device 0" in refusal.text()


def test_the_device_of_another_node_is_not_offered() -> None:
    other = a_node(
        a_capability("cpu:7", node="n1"), slots={}, devices=(a_device("cpu:7", index=7, node="n1"),), node="n1"
    )
    choice = negotiate(a_spec(device=5), (), matrix_of(a_node(GMX), other))
    assert ["cpu:7" in refusal.found for refusal in choice.refusals] == [False, True]


def test_more_threads_than_every_slot_has_are_refused() -> None:
    """The scheduler may give it any slot of the device, so the smallest one decides."""
    node = msgspec.structs.replace(a_node(GMX), slots=(a_slot("cpu:0/0", threads=5), a_slot("cpu:0/1", threads=4)))
    assert negotiated(a_spec(ntomp=4), node).candidates
    (refusal,) = negotiated(a_spec(ntomp=5), node).refusals
    assert refusal.text() == (
        f"{GMX.id}: the job asks for 5 threads; the smallest slot of cpu:0 takes 4 "
        "(ask for fewer, or configure larger slots)"
    )


# ---------------------------------------------------------------- what the inputs say


def test_an_input_that_an_engine_can_not_read_is_refused_for_each_of_its_builds() -> None:
    broken = Refusal(subject="gromacs", clause="input", found="a.tpr is empty")
    older = a_capability(version="2021")
    choice = negotiated(a_spec(), a_node(GMX, older), Examination(engine="gromacs", refusals=(broken,)))
    assert {refusal.subject: refusal.found for refusal in choice.refusals} == {
        GMX.id: "a.tpr is empty",
        older.id: "a.tpr is empty",
    }


def test_an_input_newer_than_the_engine_goes_to_a_newer_one_or_says_so() -> None:
    need = Requirement("tpx_version", 138, "the tpr has format 138 (GROMACS 2026)")
    old = a_capability(limits={"tpx_version": 127})
    new = a_capability(version="2026", limits={"tpx_version": 138})
    seen = Examination(engine="gromacs", requires=(need,))
    assert [each.capability for each in negotiated(a_spec(), a_node(old, new), seen).candidates] == [new.id]
    (refusal,) = negotiated(a_spec(), a_node(old), seen).refusals
    assert refusal.clause == "tpx_version"
    assert refusal.found == "the tpr has format 138 (GROMACS 2026); gromacs 2022.5 goes up to 127"


def test_a_build_that_states_no_limit_is_not_held_to_one() -> None:
    seen = Examination(engine="gromacs", requires=(Requirement("tpx_version", 138, "it is new"),))
    assert negotiated(a_spec(), a_node(GMX), seen).candidates


# ---------------------------------------------------------------- health and absence


def test_an_unhealthy_device_or_a_frozen_build_takes_no_work() -> None:
    sick = matrix_of(a_node(GMX), DeviceUnhealthy(device="cpu:0", reason="hot"))
    (refusal,) = negotiate(a_spec(), (), sick).refusals
    assert (refusal.clause, refusal.found) == ("health", "device cpu:0 is unhealthy: hot")
    assert refusal.remedy == "`inject device-recovered cpu:0` when it is well again"
    (refusal,) = refused(a_spec(), a_capability(health="frozen", why="failed reconciliation"))
    assert refusal.text() == f"{GMX.id}: failed reconciliation"


def test_where_nothing_is_installed_that_is_the_reason() -> None:
    (refusal,) = negotiate(a_spec(), (), Matrix()).refusals
    assert "no engine is installed" in refusal.text()
    absence = Absence(engine="openmm", what="openmm", why="not installed")
    nothing = CapabilitiesProbed(node="n0", devices=(), slots=(), capabilities=(), absences=(absence,))
    assert [each.text() for each in negotiated(a_spec(), nothing).refusals] == ["openmm: openmm: not installed"]


def test_every_reason_is_given_not_only_the_first() -> None:
    refusals = refused(a_spec(precision="double", platform_hint="CUDA", device=3, ntomp=9), GMX)
    assert [refusal.clause for refusal in refusals] == ["precision", "platform", "device", "threads"]


# ---------------------------------------------------------------- order


def test_the_faster_comes_first_then_the_newer_one() -> None:
    rows = [a_capability(version=version) for version in ("2021.7", "2026", "2022.10", "2026.1", "2022.9")]
    fast = a_capability(engine="openmm", version="8.1", speed=5)
    by_id = {row.id: row.version for row in (*rows, fast)}
    assert [by_id[name] for name in chosen(a_spec(), *rows, fast)] == [
        *("8.1", "2026.1", "2026", "2022.10", "2022.9", "2021.7")
    ]


def test_a_version_with_words_in_it_is_ranked_by_its_numbers() -> None:
    beta, older = a_capability(version="2026.beta"), a_capability(version="2025.1")
    assert chosen(a_spec(), older, beta) == [beta.id, older.id]


# ---------------------------------------------------------------- by property

ROWS = st.builds(
    a_capability,
    st.sampled_from(["cpu:0", "cuda:0"]),
    engine=st.sampled_from(["gromacs", "openmm"]),
    version=st.sampled_from(["2022.5", "2026", "8.1"]),
    backend=st.sampled_from(["CPU", "CUDA"]),
    precision=st.sampled_from(["mixed", "single", "double"]),
    kinds=st.sampled_from([("tpr", "gromacs-top"), ("gromacs-top",)]),
    speed=st.integers(0, 2),
    health=st.sampled_from(["ready", "ready", "ready", "frozen"]),
    limits=st.sampled_from([{}, {"tpx_version": 127}]),
)
NODES = st.lists(ROWS, max_size=6, unique_by=lambda row: row.id).map(
    lambda rows: msgspec.structs.replace(a_node(slots={"cpu:0": 2, "cuda:0": 1}), capabilities=tuple(rows))
)
SPECS = st.builds(
    a_spec,
    precision=st.sampled_from(sorted(SATISFIES)),
    backend_pref=st.sampled_from([None, None, "gromacs", "openmm", "gromax"]),
    platform_hint=st.sampled_from([None, None, "cpu", "CUDA"]),
    device=st.sampled_from([None, None, 0, 7, "cpu:0"]),
    ntomp=st.sampled_from([None, None, 1, 2]),
)
EXAMINATIONS = st.sampled_from(
    [
        (),
        (Examination(engine="gromacs", requires=(Requirement("tpx_version", 138, "it is new"),)),),
        (Examination(engine="openmm", refusals=(Refusal(subject="openmm", clause="kind", found="no"),)),),
    ]
)
COMMON = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@COMMON
@given(SPECS, EXAMINATIONS, NODES)
def test_a_refusal_names_every_capability_that_was_tried_and_each_with_a_reason(
    spec: MDJobSpec, examinations: tuple[Examination, ...], node: CapabilitiesProbed
) -> None:
    choice = negotiated(spec, node, *examinations)
    if choice.candidates:
        assert choice.refusals == ()
        return
    assert {row.id for row in node.capabilities} <= {refusal.subject for refusal in choice.refusals}
    assert choice.refusals
    assert all(refusal.found and refusal.clause for refusal in choice.refusals)


@COMMON
@given(SPECS, EXAMINATIONS, NODES)
def test_a_candidate_is_what_was_asked_for(
    spec: MDJobSpec, examinations: tuple[Examination, ...], node: CapabilitiesProbed
) -> None:
    rows = {row.id: row for row in node.capabilities}
    for candidate in negotiated(spec, node, *examinations).candidates:
        row = rows[candidate.capability]
        assert row.precision != "double" or spec.precision in {"double", "any"}
        assert row.precision in SATISFIES[spec.precision]
        assert spec.backend_pref in (None, row.engine)
        assert spec.device in (None, 0, row.device)
        assert (row.health, "tpr" in row.kinds, candidate.device) == ("ready", True, row.device)


@COMMON
@given(SPECS, EXAMINATIONS, NODES, st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_the_order_of_probing(
    spec: MDJobSpec, examinations: tuple[Examination, ...], node: CapabilitiesProbed, random: Any
) -> None:
    rows = list(node.capabilities)
    random.shuffle(rows)
    shuffled = msgspec.structs.replace(node, capabilities=tuple(rows))
    ours, theirs = (negotiated(spec, each, *examinations) for each in (node, shuffled))
    assert ours.candidates == theirs.candidates
    assert set(map(Refusal.text, ours.refusals)) == set(map(Refusal.text, theirs.refusals))


@COMMON
@given(st.lists(st.tuples(SPECS, EXAMINATIONS), max_size=6), NODES)
def test_a_remembered_answer_is_the_one_that_would_be_given_anew(
    asked: list[tuple[Any, tuple[Examination, ...]]], node: CapabilitiesProbed
) -> None:
    story = Story(NegotiatorCore())
    story.tell(node)
    for job, (spec, examinations) in enumerate(asked, 1):
        story.tell(msgspec.structs.replace(a_submission(job, examinations=examinations), spec=spec))
    for answer, (spec, examinations) in zip(story.follow(), asked, strict=True):
        fresh = negotiated(spec, node, *examinations)
        assert isinstance(answer, JobAccepted | JobRejected)
        found = answer.candidates if isinstance(answer, JobAccepted) else answer.refusals
        assert found == (fresh.candidates or fresh.refusals)


# ---------------------------------------------------------------- the actor's half


@pytest.mark.parametrize(
    "asked",
    [{"precision": "double"}, {"backend_pref": "openmm"}, {"platform_hint": "HIP"}, {"device": 7}, {"ntomp": 9}],
    ids=str,
)
def test_jobs_that_differ_in_what_they_ask_for_are_answered_each_for_itself(asked: dict[str, Any]) -> None:
    story = Story(NegotiatorCore())
    story.tell(
        a_node(), a_submission(1), a_submission(2, **asked), a_submission(3, name="other", nsteps=5, priority=1.0)
    )
    assert [type(event) for event in story.follow()] == [JobAccepted, JobRejected, JobAccepted]


def test_submissions_are_answered_in_their_order_and_each_by_its_own_cause() -> None:
    story = Story(NegotiatorCore())
    story.tell(a_node(), a_submission(1), a_submission(2, precision="double"), a_submission(3))
    answers = [(type(each.event), each.cause) for each in story.decide() if isinstance(each, Publish)]
    assert answers == [(JobAccepted, 2), (JobRejected, 3), (JobAccepted, 4)]
    assert [event.job for event in story.follow()] == [1, 2, 3]  # type: ignore[attr-defined]
    assert story.decide() == []


def test_nothing_is_answered_before_something_is_known() -> None:
    story = Story(NegotiatorCore())
    story.tell(a_submission(1))
    assert story.decide() == []
    story.tell(a_node())
    assert len(story.follow()) == 1


def test_an_old_matrix_may_accept_but_only_a_new_one_refuses() -> None:
    story = Story(NegotiatorCore())
    story.tell(a_node())
    story.wait(301.0)
    story.tell(a_submission(1), a_submission(2, precision="double"))
    assert [type(event) for event in story.follow()] == [JobAccepted]
    story.tell(a_node(GMX, GMX_D))
    assert story.follow() == [
        JobAccepted(job=2, candidates=negotiated(a_spec(precision="double"), a_node(GMX_D)).candidates)
    ]


def test_how_old_is_too_old_is_the_policy_s_affair() -> None:
    story = Story(NegotiatorCore())
    policy = Policy(probe_ttl_seconds=1000.0)
    story.tell(PlatformStarted(version="1", node="n0", pid=1, boot_id="b", policy=policy), a_node())
    story.wait(301.0)
    story.tell(a_submission(1, precision="double"))
    assert [type(event) for event in story.follow()] == [JobRejected]


def test_what_was_answered_before_a_restart_is_not_answered_again() -> None:
    story = Story(NegotiatorCore())
    story.tell(a_node(), a_submission(1), a_submission(2), an_acceptance(1))
    assert [event.job for event in story.follow()] == [2]  # type: ignore[attr-defined]


def test_an_answer_is_by_the_matrix_of_the_moment() -> None:
    story = Story(NegotiatorCore())
    story.tell(a_node(), a_submission(1))
    story.follow()
    story.tell(DeviceUnhealthy(device="cpu:0", reason="hot"), a_submission(2))
    assert [type(event) for event in story.follow()] == [JobRejected]
    story.tell(DeviceRecovered(device="cpu:0"), a_submission(3))
    assert [type(event) for event in story.follow()] == [JobAccepted]
