"""The platform's settings."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from events.codec import decode, encode
from events.platform import PlatformStarted, Policy
from mdactors.config import Config, PolicySettings, Settings, SlotSettings, load_config
from mdactors.errors import ConfigError
from tests.architecture.sources import ROOT

PAGE = ROOT / "docs" / "configuration.md"


def written(folder: Path, text: str) -> Path:
    path = folder / "mdactors.toml"
    path.write_text(text, encoding="utf-8")
    return path


def load(folder: Path, text: str, **overrides: Any) -> Settings:
    return load_config(written(folder, text), state=folder, overrides=overrides).settings


def test_everything_has_a_default(tmp_path: Path) -> None:
    assert load_config(None, state=tmp_path) == Config(state=tmp_path, settings=Settings())
    assert load(tmp_path, "") == Settings()


def test_the_state_folder_does_not_move_with_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_config(None, state=Path("state")).state == tmp_path / "state"


def test_a_file_is_read(tmp_path: Path) -> None:
    found = load(
        tmp_path, 'node = "box1"\nsearch_path = ["/opt/gromacs/bin"]\n[slots]\ncount = 2\n[policy]\nretries = 0\n'
    )
    assert (found.node, found.search_path) == ("box1", ("/opt/gromacs/bin",))
    assert (found.slots, found.policy) == (SlotSettings(count=2), PolicySettings(retries=0))


def test_the_command_line_overrules_the_file_setting_by_setting(tmp_path: Path) -> None:
    text = 'node = "box1"\n[slots]\ncount = 2\nthreads = 4\n'
    found = load(tmp_path, text, node="box2", slots={"count": 3}, policy={"retries": 1})
    assert found == Settings(node="box2", slots=SlotSettings(count=3, threads=4), policy=PolicySettings(retries=1))


def test_overruling_one_load_changes_no_other(tmp_path: Path) -> None:
    overrides: dict[str, Any] = {"slots": {"count": 3}}
    load(tmp_path, "[slots]\nthreads = 4\n", **overrides)
    assert overrides == {"slots": {"count": 3}}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("nodes = 'a'", "unknown field `nodes`"),
        ("[slots]\ncores = 2", r"unknown field `cores` - at `\$\.slots`"),
        ("[slots]\ncount = 0", r">= 1 - at `\$\.slots\.count`"),
        ("backlog = 'many'", r"got `str` - at `\$\.backlog`"),
        ("slots = 2", r"Expected `object`, got `int` - at `\$\.slots`"),
        ("[policy]\nretries = -1", r">= 0 - at `\$\.policy\.retries`"),
        ("[policy]\nsuspicions = 0", r">= 1 - at `\$\.policy\.suspicions`"),
        ("[policy]\nprobe_ttl_seconds = 0", r"> 0.* - at `\$\.policy\.probe_ttl_seconds`"),
        ("[policy]\naging_per_hour = inf", r"- at `\$\.policy\.aging_per_hour`"),
        ("[policy]\naging_per_hour = nan", r"- at `\$\.policy\.aging_per_hour`"),
    ],
)
def test_a_wrong_setting_is_named_with_its_file_and_where_to_read_more(
    tmp_path: Path, text: str, complaint: str
) -> None:
    with pytest.raises(ConfigError, match=rf"mdactors\.toml: .*{complaint}.*docs/configuration\.md"):
        load(tmp_path, text)


def test_a_wrong_word_on_the_command_line_is_no_fault_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^settings: .*\$\.slots\.count"):
        load_config(None, state=tmp_path, overrides={"slots": {"count": 0}})


def test_a_file_that_can_not_be_read_says_why(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"missing\.toml can't be read: No such file"):
        load_config(tmp_path / "missing.toml", state=tmp_path)
    with pytest.raises(ConfigError, match=r"is not TOML: .*line 1"):
        load(tmp_path, "node = box1")
    (tmp_path / "latin.toml").write_bytes(b'node = "b\xf6x"')
    with pytest.raises(ConfigError, match=r"is not TOML: .*utf-8"):
        load_config(tmp_path / "latin.toml", state=tmp_path)
    with pytest.raises(ConfigError, match="is not TOML"):
        load(tmp_path, f"a = {'[' * 10_000}")


def test_the_policy_of_the_settings_is_the_policy_of_the_log() -> None:
    assert PolicySettings().policy() == Policy()
    chosen = PolicySettings(aging_per_hour=2.0, retries=0, suspicions=1, probe_ttl_seconds=5.0)
    assert chosen.policy() == Policy(aging_per_hour=2.0, retries=0, suspicions=1, probe_ttl_seconds=5.0)
    assert {*PolicySettings.__struct_fields__, "logic"} == set(Policy.__struct_fields__)
    started = PlatformStarted(version="1", node="n0", pid=1, boot_id="b", policy=chosen.policy())
    assert decode("PlatformStarted", 1, encode(started)) == started


def test_the_page_shows_every_setting_and_is_itself_a_file_that_can_be_used(tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    shown = tomllib.loads(example)
    assert set(shown) == set(Settings.__struct_fields__)
    assert set(shown["slots"]) == set(SlotSettings.__struct_fields__)
    assert shown["policy"] == msgspec.to_builtins(PolicySettings())
    assert load(tmp_path, example).backlog == Settings().backlog
