"""One read-only copy for each content, so that nothing that happens to the original matters."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.spec import InputFile
from mdactors.errors import InputError
from mdactors.runtime.inputs import CHUNK, InputStore, link_or_copy


@pytest.fixture
def store(tmp_path: Path) -> InputStore:
    return InputStore(tmp_path / "inputs")


@pytest.fixture
def original(tmp_path: Path) -> Path:
    path = tmp_path / "a.tpr"
    path.write_bytes(b"one")
    return path


def names(store: InputStore) -> list[str]:
    return sorted(path.name for path in store.root.iterdir()) if store.root.exists() else []


def taken(path: Path, store: InputStore, role: str = "tpr") -> InputFile:
    sha256, size, _ = store.keep(path)
    return InputFile(role, path.name, str(path), sha256, size)


# ---------------------------------------------------------------- keeping


def test_a_copy_lies_under_its_digest(store: InputStore, original: Path) -> None:
    digest = hashlib.sha256(b"one").hexdigest()
    assert store.keep(original) == (digest, 3, store.root / digest)
    assert (store.root / digest).read_bytes() == b"one"
    assert names(store) == [digest]


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 3), st.integers(-1, 1))
def test_files_of_any_size_are_kept_whole(tmp_path_factory: pytest.TempPathFactory, chunks: int, more: int) -> None:
    folder = tmp_path_factory.mktemp("sizes")
    data = os.urandom(max(0, chunks * CHUNK + more))
    (folder / "x").write_bytes(data)
    sha256, size, kept = InputStore(folder / "inputs").keep(folder / "x")
    assert (sha256, size, kept.read_bytes()) == (hashlib.sha256(data).hexdigest(), len(data), data)


def test_two_files_of_one_content_are_one(store: InputStore, original: Path, tmp_path: Path) -> None:
    (tmp_path / "b.tpr").write_bytes(b"one")
    assert store.keep(original)[2] == store.keep(tmp_path / "b.tpr")[2]
    assert len(names(store)) == 1


def test_nobody_can_write_into_a_copy(store: InputStore, original: Path) -> None:
    mode = store.keep(original)[2].stat().st_mode
    assert stat.S_IMODE(mode) == 0o444


def test_an_edit_in_place_leaves_the_copy_as_it_was(store: InputStore, original: Path) -> None:
    kept = store.keep(original)[2]
    with original.open("r+b") as file:
        file.write(b"two")
    assert kept.read_bytes() == b"one"
    assert store.keep(original)[2].read_bytes() == b"two"
    assert kept.read_bytes() == b"one"


def test_an_edit_is_seen_though_size_and_date_are_as_before(store: InputStore, original: Path) -> None:
    """As after `cp -p` or `rsync -t --inplace`."""
    before = original.stat()
    store.keep(original)
    original.write_bytes(b"two")
    while original.stat().st_ctime_ns == before.st_ctime_ns:  # within one tick of the kernel's clock
        original.write_bytes(b"two")
    os.utime(original, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert store.keep(original)[2].read_bytes() == b"two"


def test_a_batch_that_names_one_file_again_and_again_reads_it_once(
    store: InputStore, original: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = store.keep(original)
    monkeypatch.setattr(store, "_copy", None)
    assert [store.keep(original) for _ in range(1000)] == [first] * 1000


def test_a_copy_that_somebody_removed_is_made_again(store: InputStore, original: Path) -> None:
    kept = store.keep(original)[2]
    kept.unlink()
    assert store.keep(original)[2].read_bytes() == b"one"


def test_a_copy_is_on_the_disk_with_its_name_before_anything_is_said_of_it(
    store: InputStore, original: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[bool, list[str]]] = []

    def fsync(descriptor: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        synced.append((is_folder, [name for name in names(store) if not name.startswith(".part-")]))

    monkeypatch.setattr("mdactors.runtime.inputs.os.fsync", fsync)
    sha256, _, _ = store.keep(original)
    assert synced == [(False, []), (True, [sha256])]


# ---------------------------------------------------------------- refusing


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("missing.tpr", "No such file"),
        ("folder", "is not a file"),
        ("pipe", "is not a file"),
        ("a.tpr/b.tpr", "Not a directory"),
        ("x" * 300, "File name too long"),
        ("nul\0.tpr", "null byte"),
        ("loop", "Too many levels"),
        ("\udcff.tpr", "not UTF-8"),
    ],
)
def test_what_can_t_be_kept_is_refused_with_its_reason(
    store: InputStore, original: Path, tmp_path: Path, name: str, word: str
) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.tpr")).write_bytes(b"there")
    with pytest.raises(InputError, match=word) as raised:
        store.keep(tmp_path / name)
    str(raised.value).encode()
    assert names(store) == []


def test_a_copy_that_fails_half_way_leaves_nothing_behind(
    store: InputStore, original: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("mdactors.runtime.inputs.os.fsync", full)
        with pytest.raises(InputError, match=r"a\.tpr: No space left"):
            store.keep(original)
    assert names(store) == []
    assert store.keep(original)[2].read_bytes() == b"one"


def test_what_a_crash_left_of_a_copy_is_swept_away_and_nothing_else(store: InputStore, original: Path) -> None:
    kept = store.keep(original)[2]
    (store.root / ".part-x").mkdir()
    (store.root / ".part-x" / "part").write_bytes(b"half")
    InputStore(store.root)
    assert names(store) == [kept.name]


# ---------------------------------------------------------------- placing


def test_inputs_appear_in_the_job_s_folder_as_links(store: InputStore, original: Path, tmp_path: Path) -> None:
    store.place([taken(original, store)], tmp_path / "job")
    placed = tmp_path / "job" / "inputs" / "a.tpr"
    assert placed.samefile(store.keep(original)[2])


def test_includes_keep_their_folders(store: InputStore, original: Path, tmp_path: Path) -> None:
    item = taken(original, store)
    store.place([InputFile("include", "ff/deep/a.itp", item.path, item.sha256, item.size)], tmp_path / "job")
    assert (tmp_path / "job/inputs/ff/deep/a.itp").read_bytes() == b"one"


def test_placing_again_changes_nothing(store: InputStore, original: Path, tmp_path: Path) -> None:
    items = [taken(original, store)]
    store.place(items, tmp_path / "job")
    before = (tmp_path / "job/inputs/a.tpr").stat()
    store.place(items, tmp_path / "job")
    assert (tmp_path / "job/inputs/a.tpr").stat() == before


def test_where_no_link_can_be_made_there_is_a_copy(original: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def across(self: Path, target: Path) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(Path, "hardlink_to", across)
    target = original.with_name("copy.tpr")
    link_or_copy(original, target)
    assert target.read_bytes() == b"one"
    assert not target.samefile(original)
    assert sorted(path.name for path in original.parent.iterdir()) == ["a.tpr", "copy.tpr"]


def test_what_is_there_already_stays(original: Path) -> None:
    target = original.with_name("mine.tpr")
    target.write_bytes(b"mine")
    link_or_copy(original, target)
    assert target.read_bytes() == b"mine"


def test_an_input_that_is_gone_from_the_store_is_an_error(store: InputStore, tmp_path: Path) -> None:
    gone: Any = InputFile("tpr", "a.tpr", "/a.tpr", "0" * 64, 3)
    with pytest.raises(FileNotFoundError):
        store.place([gone], tmp_path / "job")
