"""What writing a file does to what already stands in its place."""

from __future__ import annotations

import errno
import gc
import io
import os
import signal
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from full_disk import file_size_limit
from tilec.support.diagnostics import TileError
from tilec.support.files import atomic_directory, atomic_file, require_file
from tilec.support.zip_file import NewZip


def _write(path: Path, text: str = "new") -> None:
    with atomic_file(path) as temporary:
        temporary.write_text(text)


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("old")
    (tmp_path / "far").symlink_to("link")
    (tmp_path / "link").symlink_to("target")
    _write(tmp_path / "far")
    assert (tmp_path / "far").is_symlink()
    assert (tmp_path / "link").is_symlink()
    assert target.read_text() == "new"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["far", "link", "target"]


def test_a_link_to_nothing_gets_a_target(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    _write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


def test_a_fifo_is_written_to(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    (tmp_path / "link").symlink_to(fifo)
    for path in (fifo, tmp_path / "link"):
        found: list[str] = []
        reader = threading.Thread(target=lambda found=found: found.append(fifo.read_text()), daemon=True)
        reader.start()
        _write(path)
        reader.join(10)
        assert found == ["new"]
        assert fifo.is_fifo()


def test_an_own_descriptor_is_written_where_it_is(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        file.write(b"before ")
        file.flush()
        inode = os.fstat(file.fileno()).st_ino
        _write(Path(f"/dev/fd/{file.fileno()}"))
        file.write(b" after")
    assert (tmp_path / "file").read_text() == "before new after"
    assert (tmp_path / "file").stat().st_ino == inode


def test_a_pipe_is_written_to() -> None:
    reading, writing = os.pipe()
    _write(Path(f"/dev/fd/{writing}"))
    os.close(writing)
    with os.fdopen(reading) as file:
        assert file.read() == "new"


def test_a_directory_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(TileError, match=r": is a directory; name a file") as caught:
        _write(tmp_path)
    assert caught.value.where == str(tmp_path)


def test_an_error_names_the_given_path(tmp_path: Path) -> None:
    path = tmp_path / "link"
    path.symlink_to(tmp_path / "none" / "file")
    with pytest.raises(TileError, match="cannot be written: no such file or directory") as caught:
        _write(path)
    assert caught.value.where == str(path)


def test_a_full_disk_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "f"
    with (
        pytest.raises(TileError, match="f: cannot be written: file too large; name another place"),
        file_size_limit(1000),
        atomic_file(path) as temporary,
    ):
        temporary.write_bytes(bytes(1001))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OSError, match="of something else"), atomic_file(path):
        raise OSError(errno.EAGAIN, "of something else")
    with pytest.raises(OSError, match="other"), atomic_file(path):
        raise OSError(errno.ENOSPC, "No space left on device", "other")


def test_a_failure_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def write_half() -> None:
        with atomic_file(path) as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_to_a_directory_stays(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (target / "old").touch()
    (tmp_path / "link").symlink_to(target)
    with atomic_directory(tmp_path / "link") as temporary:
        (temporary / "new").touch()
    assert (tmp_path / "link").is_symlink()
    assert [one.name for one in target.iterdir()] == ["new"]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link", "target"]


def test_the_old_directory_comes_back_if_it_cannot_be_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (target / "old").touch()
    replace, seen = os.replace, list[str]()

    def failing(source: Path, destination: Path) -> None:
        seen.append(source.name)
        if len(seen) == 2:
            raise KeyboardInterrupt
        replace(source, destination)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(KeyboardInterrupt), atomic_directory(target) as temporary:
        (temporary / "new").touch()
    assert [one.name for one in target.iterdir()] == ["old"]
    assert list(tmp_path.iterdir()) == [target]


def test_an_interrupt_while_directories_change_places_comes_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "package"
    target.mkdir()
    (target / "old").touch()
    replace = os.replace

    def interrupted(*paths: Path) -> None:
        signal.raise_signal(signal.SIGINT)
        replace(*paths)

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt), atomic_directory(target) as folder:
        (folder / "new").touch()
    assert [path.name for path in tmp_path.iterdir()] == ["package"]
    assert [path.name for path in target.iterdir()] == ["new"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("write", [atomic_file, atomic_directory])
def test_an_interrupt_while_a_temporary_is_made_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], AbstractContextManager[Path]]
) -> None:
    for name in ("mkstemp", "mkdtemp"):
        make = getattr(tempfile, name)

        def interrupted(make: Callable[..., object] = make, **given: Any) -> object:
            made = make(**given)
            signal.raise_signal(signal.SIGINT)
            return made

        monkeypatch.setattr(tempfile, name, interrupted)
    with pytest.raises(KeyboardInterrupt), write(tmp_path / "out"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_zip_that_fails_is_not_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    complaints: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    file = io.BytesIO()
    with pytest.raises(ZeroDivisionError), NewZip(file, "w") as archive:  # noqa: PT012
        archive.writestr("whole", b"1")
        file.close()
        raise ZeroDivisionError
    del archive
    gc.collect()
    assert complaints == []
    whole = io.BytesIO()
    with NewZip(whole, "w") as archive:
        archive.writestr("whole", b"1")
    assert zipfile.ZipFile(whole).read("whole") == b"1"


def test_a_dash_is_no_file() -> None:
    """For options whose value is a file, and not stdout."""
    with pytest.raises(TileError, match="-: is not the name of a file"):
        require_file(Path("-"))
