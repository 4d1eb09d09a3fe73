"""The one door for a child's environment: golden for each vendor, and nothing else ever gets through."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.hardware import Device, DeviceType
from mdactors.environment import HIDDEN, KEPT, REFUSED, VISIBILITY, build_env, visibility
from mdactors.errors import InputError

BASE = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/home/anna",
    "LANG": "de_DE.UTF-8",
    "LC_NUMERIC": "de_DE.UTF-8",
    "LD_LIBRARY_PATH": "/opt/gromacs/lib",
    "LD_PRELOAD": "/tmp/x.so",
    "OMP_NUM_THREADS": "7",
    "KMP_AFFINITY": "scatter",
    "GMX_NO_TERM": "1",
    "GMX_MAXBACKUP": "-1",
    "OPENMM_CPU_THREADS": "9",
    "HDF5_USE_FILE_LOCKING": "FALSE",
    "CUDA_VISIBLE_DEVICES": "3",
    "ROCR_VISIBLE_DEVICES": "3",
    "ONEAPI_DEVICE_SELECTOR": "cuda:*",
    "AWS_SECRET_ACCESS_KEY": "hush",
}
KEPT_OF_BASE = {"PATH": "/usr/bin:/bin", "HOME": "/home/anna", "LD_LIBRARY_PATH": "/opt/gromacs/lib", "LC_ALL": "C"}


def device(kind: DeviceType, *, index: int | None = 2, uuid: str = "") -> Device:
    return Device(id=f"{kind}:2", node="n", type=kind, index=index, uuid=uuid)


GOLDEN = [
    (device("cuda", uuid="GPU-ab-cd"), {"CUDA_VISIBLE_DEVICES": "GPU-ab-cd", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}),
    (device("cuda", uuid="MIG-ab-cd"), {"CUDA_VISIBLE_DEVICES": "MIG-ab-cd", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}),
    (device("cuda"), {"CUDA_VISIBLE_DEVICES": "2", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}),
    (device("rocm", uuid="GPU-ab"), {"ROCR_VISIBLE_DEVICES": "GPU-ab"}),
    (device("rocm", uuid="0xab"), {"ROCR_VISIBLE_DEVICES": "2"}),
    (device("oneapi", uuid="GPU-ab"), {"ZE_AFFINITY_MASK": "2", "ZE_FLAT_DEVICE_HIERARCHY": "COMPOSITE"}),
    (device("musa"), {"MUSA_VISIBLE_DEVICES": "2"}),
    (device("ascend"), {"ASCEND_RT_VISIBLE_DEVICES": "2"}),
    (device("dcu"), {"HIP_VISIBLE_DEVICES": "2"}),
    (
        device("cpu", index=None),
        {
            "CUDA_VISIBLE_DEVICES": "",
            "ROCR_VISIBLE_DEVICES": "",
            "HIP_VISIBLE_DEVICES": "-1",
            "ONEAPI_DEVICE_SELECTOR": "*:cpu",
            "MUSA_VISIBLE_DEVICES": "",
        },
    ),
]

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,20}", fullmatch=True) | st.sampled_from([*BASE, *KEPT, *VISIBILITY])
values = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
devices = st.none() | st.sampled_from([one for one, _ in GOLDEN])


@pytest.mark.parametrize(("one", "shown"), GOLDEN, ids=lambda value: value.type if isinstance(value, Device) else "")
def test_golden(one: Device, shown: dict[str, str]) -> None:
    built = build_env(BASE, {"OMP_NUM_THREADS": "4"}, one)
    assert built.environment == {**KEPT_OF_BASE, "OMP_NUM_THREADS": "4", **shown}


def test_probe_sees_every_device() -> None:
    assert build_env(BASE, {}, None).environment == KEPT_OF_BASE


def test_plan_may_replace_what_is_kept() -> None:
    assert build_env(BASE, {"PATH": "/opt/bin"}, None).environment["PATH"] == "/opt/bin"


@pytest.mark.parametrize("name", [*REFUSED, "", "a=b", "a b", "1a", "a-b", "a\0", "ä"])
def test_what_no_plan_may_set(name: str) -> None:
    with pytest.raises(InputError) as caught:
        build_env({}, {name: "1"}, None)
    assert repr(name)[1:-1] in str(caught.value)


def test_values_that_no_plan_may_set() -> None:
    for name, value in (("A", "x\0y"), ("GMX_MAXBACKUP", "-1"), ("GMX_MAXBACKUP", " -5")):
        with pytest.raises(InputError):
            build_env({}, {name: value}, None)
    assert build_env({}, {"GMX_MAXBACKUP": "999"}, None).environment["GMX_MAXBACKUP"] == "999"


@pytest.mark.parametrize("kind", ["cuda", "rocm", "oneapi", "musa", "ascend", "dcu"])
def test_accelerator_without_a_name_is_refused(kind: DeviceType) -> None:
    with pytest.raises(InputError, match=f"{kind}:2"):
        visibility(device(kind, index=None))


def test_tables_agree() -> None:
    assert not set(KEPT) & (set(REFUSED) | set(VISIBILITY))
    assert set(HIDDEN) <= set(VISIBILITY) <= set(REFUSED)
    assert {name for one, _ in GOLDEN for name in visibility(one)} <= set(VISIBILITY)
    assert all(KEPT.values())
    assert all(REFUSED.values())


def test_explanation_names_everything_and_tells_no_secret() -> None:
    lines = build_env(BASE, {"OMP_NUM_THREADS": "4"}, device("cuda", uuid="GPU-ab")).explanation
    text = "\n".join(lines)
    for line in (
        "OMP_NUM_THREADS=4: the plan",
        "GMX_NO_TERM: dropped",
        "LD_PRELOAD: dropped",
        "ROCR_VISIBLE_DEVICES: dropped",
    ):
        assert line in lines
    assert "CUDA_VISIBLE_DEVICES=GPU-ab: this device alone is visible" in lines
    assert "hush" not in text
    assert "/home/anna" not in text
    assert "CUDA_VISIBLE_DEVICES: dropped" not in text


@given(st.dictionaries(names, values), st.dictionaries(names, values), devices)
def test_nothing_else_ever_appears(base: dict[str, str], variables: dict[str, str], one: Device | None) -> None:
    try:
        built = build_env(base, variables, one)
    except InputError:
        return
    shown = {} if one is None else visibility(one)
    for name, value in built.environment.items():
        if name in shown:
            assert value == shown[name]
        elif name in variables:
            assert value == variables[name]
        elif name == "LC_ALL":
            assert value == "C"
        else:
            assert name in KEPT
            assert value == base[name]
    assert set(variables) | set(shown) | {"LC_ALL"} <= set(built.environment)
    assert all(any(line.startswith(name) for line in built.explanation) for name in built.environment)


@given(st.dictionaries(names, values), st.dictionaries(names, values), devices)
def test_same_question_same_answer(base: dict[str, str], variables: dict[str, str], one: Device | None) -> None:
    before = dict(base), dict(variables)
    try:
        first = build_env(base, variables, one)
    except InputError:
        return
    assert build_env(base, variables, one) == first
    assert (base, variables) == before
