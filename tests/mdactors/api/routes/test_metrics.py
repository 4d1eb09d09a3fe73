"""Figures for Prometheus."""

from __future__ import annotations

from tests.mdactors.api.conftest import Api


def test_the_text_and_its_type_are_the_platforms_own(api: Api) -> None:
    answer = api.get("/metrics")
    assert answer.text == "mdplatform_slots 2\n"
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
