"""The store of inputs: one read-only copy for each digest, so that a later edit can't change a queued job."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from events.spec import InputFile
from mdactors.errors import InputError
from mdactors.runtime.journal.files import sync_folder

CHUNK = 1 << 20


class InputStore:
    """`<state>/inputs/<sha256>`. Copies, never links to the user's file: an editor that writes in place would reach through."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for part in root.glob(".part-*"):  # of a copy that a crash cut short
            shutil.rmtree(part, ignore_errors=True)
        self._known: dict[tuple[str, int, int, int], tuple[str, int, Path]] = {}
        """Path, inode, size and time of change -> what was kept: a batch that names one file a thousand times reads it once.

        The inode's time, not the content's: `cp -p` and `rsync -t` set the latter as they like.
        """

    def check(self, path: Path) -> None:
        """See whether a file could be kept, so that nothing is kept for a job that lacks another one.

        Raises:
            InputError: it could not; see `keep`.
        """
        with _clear_words(path):
            _readable(path).close()

    def keep(self, path: Path) -> tuple[str, int, Path]:
        """Copy a file into the store, durable; return sha256, size in bytes and the kept copy's path.

        Raises:
            InputError: it is not there, is no file, or can't be read, or its name can't be written down.
        """
        with _clear_words(path):
            stat = path.stat()
            key = (str(path), stat.st_ino, stat.st_size, stat.st_ctime_ns)
            if key not in self._known or not self._known[key][2].exists():
                self._known[key] = self._copy(path)
            return self._known[key]

    def _copy(self, path: Path) -> tuple[str, int, Path]:
        self.root.mkdir(parents=True, exist_ok=True)
        with _readable(path) as source, tempfile.TemporaryDirectory(prefix=".part-", dir=self.root) as folder:
            part = Path(folder, "part")
            sha256, size = _copied(source, part)
            kept = part.rename(self.root / sha256)
        sync_folder(self.root)
        return sha256, size, kept

    def place(self, inputs: Iterable[InputFile], folder: Path) -> None:
        """Make the inputs appear under `folder/inputs/`: hard links to the read-only copies, else copies."""
        for item in inputs:
            target = folder / "inputs" / item.name
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                link_or_copy(self.root / item.sha256, target)


@contextlib.contextmanager
def _clear_words(path: Path) -> Iterator[None]:
    """Let what goes wrong with a file be told in words that can be written down."""
    try:
        str(path).encode()
        yield
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except UnicodeEncodeError as error:
        raise InputError(f"{str(path)!a}: its name is not UTF-8; rename it") from error
    except ValueError as error:
        raise InputError(f"{str(path)!r}: is no path: {error}") from error


def _readable(path: Path) -> BinaryIO:
    path.stat()  # its error says more than `is_file`, which is False for whatever goes wrong
    if not path.is_file():
        raise InputError(f"{path}: is not a file")
    return path.open("rb")


def _copied(source: BinaryIO, part: Path) -> tuple[str, int]:
    """Copy into a read-only file that is on the disk on return; return its sha256 and size."""
    digest = hashlib.sha256()
    with part.open("xb") as target:
        while chunk := source.read(CHUNK):
            digest.update(chunk)
            target.write(chunk)
        target.flush()
        os.fchmod(target.fileno(), 0o444)
        os.fsync(target.fileno())
        return digest.hexdigest(), target.tell()


def link_or_copy(source: Path, target: Path) -> None:
    """Make `source` appear as `target`: a hard link where the file system allows it, else a copy by rename."""
    with contextlib.suppress(FileExistsError):
        try:
            target.hardlink_to(source)
        except FileExistsError:
            raise
        except OSError:
            part = target.with_name(f".{target.name}.part")
            shutil.copyfile(source, part)
            part.rename(target)
