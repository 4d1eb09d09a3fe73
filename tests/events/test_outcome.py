"""How things went."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given

from events.outcome import Diagnosis, Examination, ExitRecord, Figures, Refusal
from tests.events.strategies import any_of


@pytest.mark.parametrize(
    ("refusal", "text"),
    [
        (
            Refusal(
                subject="gmx", clause="precision", wanted="double precision", found="built in mixed", remedy="use gmx_d"
            ),
            "gmx: the job asks for double precision; built in mixed (use gmx_d)",
        ),
        (Refusal(subject="gmx", clause="absent", found="not on PATH"), "gmx: not on PATH"),
        (Refusal(subject="gmx", clause="engine", wanted="engine 'x'"), "gmx: engine 'x'"),
        (
            Refusal(subject="field 'tpr'", clause="field", found="missing", remedy="name it"),
            "field 'tpr': missing (name it)",
        ),
    ],
)
def test_a_refusal_in_one_line(refusal: Refusal, text: str) -> None:
    assert refusal.text() == text


@given(any_of(Refusal))
def test_a_refusal_leaves_out_nothing_that_it_knows(refusal: Refusal) -> None:
    text = refusal.text()
    assert text.startswith(f"{refusal.subject}: ")
    assert all(part in text for part in (refusal.wanted, refusal.found, refusal.remedy))


def test_figures_claim_nothing_by_themselves() -> None:
    plain = msgspec.structs.asdict(Figures())
    assert {name for name, value in plain.items() if value is not None} == {"engine_version", "hardware", "steady"}
    assert not Figures().steady


def test_a_diagnosis_is_no_reason_for_a_retry_unless_it_says_so() -> None:
    assert Diagnosis(kind="files", code="disk-full", summary="no space").retry == "no"


@pytest.mark.parametrize(("field", "value"), [("kind", "weather"), ("retry", "maybe")])
def test_a_diagnosis_keeps_to_its_few_words(field: str, value: str) -> None:
    plain = {"kind": "files", "code": "disk-full", "summary": "no space", field: value}
    with pytest.raises(msgspec.ValidationError, match=rf"\$\.{field}"):
        msgspec.convert(plain, Diagnosis)


def test_what_was_not_examined_refuses_and_requires_nothing() -> None:
    bare = Examination(engine="gromacs")
    assert (bare.refusals, bare.requires, bare.atoms, bare.system) == ((), (), 0, "")


def test_a_signal_is_a_negative_exit_code() -> None:
    assert msgspec.json.decode(b'{"code":-11,"time":1.0}', type=ExitRecord).code == -11
