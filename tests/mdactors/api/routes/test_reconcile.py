"""Energies of two jobs."""

from __future__ import annotations

from tests.mdactors.api.conftest import Api


def test_the_terms_and_the_verdict(api: Api) -> None:
    shown = api.post("/v1/reconcile", json={"a": 1, "b": 2}).json()
    assert shown["verdict"] == "pass"
    assert shown["terms"][0]["term"] == "potential"


def test_a_job_without_energies_is_told(api: Api) -> None:
    answer = api.post("/v1/reconcile", json={"a": 3, "b": 1})
    assert (answer.status_code, answer.json()["error"]) == (409, "energies-missing")
    assert api.post("/v1/reconcile", json={"a": 99, "b": 1}).status_code == 404
