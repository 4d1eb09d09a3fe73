from __future__ import annotations

from pathlib import Path

from mdactors.engines.gromacs.files import EDGE, read_head, read_tail, read_until, size_of, text_of


def test_both_ends_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"a" * EDGE + b"b" * EDGE + b"c" * EDGE)
    assert read_head(path) == b"a" * EDGE
    assert read_tail(path) == b"c" * EDGE
    assert read_tail(path, 3) == b"ccc"


def test_a_short_file_is_read_whole_from_either_end(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"short")
    assert read_head(path) == read_tail(path) == b"short"


def test_a_missing_file_and_a_folder_read_as_empty(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        assert (read_head(path), read_tail(path), read_until(path, b"x")) == (b"", b"", b"")
    assert size_of(tmp_path / "none") == -1


def test_reading_until_a_marker_stops_soon_after_it(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"h" * (EDGE + 10) + b"MARK" + b"t" * (10 * EDGE))
    data = read_until(path, b"MARK")
    assert b"MARK" in data
    assert len(data) == 2 * EDGE


def test_the_search_for_a_marker_has_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"h" * (4 * EDGE))
    assert len(read_until(path, b"MARK", limit=EDGE)) == EDGE


def test_any_bytes_become_text_with_one_kind_of_line_end() -> None:
    assert text_of(b"a\r\nb\xff") == "a\nb\ufffd"
