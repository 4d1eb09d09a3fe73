"""Where an attempt's output lies."""

from __future__ import annotations

import os
from pathlib import Path

from mdactors.views.logs import find


def test_the_layout_of_a_jobs_folder(tmp_path: Path) -> None:
    attempt = tmp_path / "attempts" / "2"
    attempt.mkdir(parents=True)
    assert find(tmp_path, 2, "stdout") is find(tmp_path, 2, "engine") is find(tmp_path, 2, "auto") is None
    (attempt / "stdout").touch()
    (attempt / "stderr").write_text("x")
    assert find(tmp_path, 2, "stdout") == attempt / "stdout"
    assert find(tmp_path, 2, "auto") == attempt / "stderr"
    assert find(tmp_path, 1, "stderr") is None


def test_of_several_engine_logs_the_newest_is_meant(tmp_path: Path) -> None:
    old, new = tmp_path / "md.log", tmp_path / "md.part0002.log"
    old.write_text("1")
    new.write_text("2")
    os.utime(old, (1, 1))
    assert find(tmp_path, 1, "engine") == find(tmp_path, 1, "auto") == new
