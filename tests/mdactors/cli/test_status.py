"""`status`: at a glance, a list, one job; with a platform running and with its files alone."""

from __future__ import annotations

import json

import pytest

from events.devices import DeviceUnhealthy
from tests.mdactors.api.world import World
from tests.mdactors.cli.conftest import Mdctl

GLANCE = """\
5 jobs: 1 rejected, 1 queued, 1 running, 1 completed, 1 failed

slot     state  job  name
cpu:0/0  idle
cpu:0/1  busy     2  ala2

active:
job  name  state    slot     engine                  step  done  ns/day  left
  2  ala2  running  cpu:0/1  gromacs/CPU/mixed  1250/5000  25 %     100  1 min 5 s

latest:
job  name    state      slot     engine                  step   done  ns/day  why
  5  villin  failed     cpu:0/0  gromacs/CPU/mixed                            constraints failed
"""


@pytest.mark.usefixtures("running")
class TestRunning:
    def test_the_platform_at_a_glance(self, mdctl: Mdctl) -> None:
        code, out, err = mdctl("status")
        head, _, rest = out.partition("\n")
        assert (code, err) == (0, "")
        assert head.startswith("mdactors 0.1.0 on node, up ")
        assert rest.startswith(GLANCE)

    def test_for_a_script(self, mdctl: Mdctl) -> None:
        shown = json.loads(mdctl("status", "--json").out)
        assert (shown["running"], shown["counts"]["running"]) == (True, 1)

    def test_all_jobs_or_those_in_some_state(self, mdctl: Mdctl) -> None:
        assert [line.split()[1] for line in mdctl("status", "--all").out.splitlines()[1:]] == [
            "water",
            "ala2",
            "jac",
            "dimer",
            "villin",
        ]
        chosen = json.loads(mdctl("status", "--state-filter", "queued,running", "--json").out)
        assert [row["job"] for row in chosen] == [2, 3]

    def test_more_jobs_than_a_page_holds(self, mdctl: Mdctl, world: World) -> None:
        for _ in range(600):
            world.queue()
        assert len(json.loads(mdctl("status", "--all", "--json").out)) == 605

    def test_one_job(self, mdctl: Mdctl) -> None:
        out = mdctl("status", "5").out
        assert out.startswith("job 5: villin, failed\n")
        assert "constraints failed" in out
        assert "LINCS WARNING" in out

    def test_an_unknown_job(self, mdctl: Mdctl) -> None:
        code, out, err = mdctl("status", "99")
        assert (code, out) == (1, "")
        assert err == "error: there is no job 99\n       `status` lists those that exist.\n"


@pytest.mark.usefixtures("stopped")
class TestStopped:
    def test_the_platform_at_a_glance(self, mdctl: Mdctl) -> None:
        code, out, _ = mdctl("status")
        assert code == 0
        assert out.startswith("mdactors 0.1.0 on node: not running (read from ")
        assert "5 jobs: 1 rejected, 1 queued, 1 running, 1 completed, 1 failed" in out

    def test_lists_and_single_jobs(self, mdctl: Mdctl) -> None:
        assert len(json.loads(mdctl("status", "--all", "--json").out)) == 5
        assert mdctl("status", "1").out.startswith("job 1: water, completed\n")
        assert mdctl("status", "99").code == 1
        assert mdctl("status", "--state-filter", "asleep").code == 2


def test_where_nothing_ever_ran(mdctl: Mdctl) -> None:
    code, out, err = mdctl("status")
    assert (code, out) == (1, "")
    assert "no platform is running" in err
    assert "run.py serve" in err


@pytest.mark.parametrize("source", ["running", "stopped"])
def test_a_state_that_does_not_exist_is_the_users_fault(
    mdctl: Mdctl, request: pytest.FixtureRequest, source: str
) -> None:
    request.getfixturevalue(source)
    code, out, err = mdctl("status", "--state-filter", "bogus")
    assert (code, out) == (2, "")
    assert err.startswith("error: state: 'bogus' is not known; one or more of: submitted, ")


def test_a_device_that_takes_no_work_is_told_with_the_way_back(mdctl: Mdctl, running: World) -> None:
    running.append(DeviceUnhealthy(device="cpu:0", reason="fan"))
    out = mdctl("status").out
    remedy = f"python run.py --state {running.state} inject device-recovered cpu:0"
    assert f"\ncpu:0 takes no work: fan; when it is well again: {remedy}\n" in out
    assert "waits: device cpu:0 is unhealthy: fan" in out
