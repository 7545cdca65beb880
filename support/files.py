"""Writing results so that a failure or an interrupt leaves nothing half-written.

A symbolic link stays, and what it points to is replaced. What is not a regular file (a device, a FIFO, `/dev/stdout`)
is never replaced: the finished result is written to it.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import stat
import tempfile
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .diagnostics import TileError, system_reason

_DESCRIPTORS = re.compile(r"/dev/fd|/proc/\d+/(task/\d+/)?fd")
_MOST_LINKS = 40
_STORAGE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def require_file(path: Path) -> None:
    """Raises now, before there is anything to write, the TileError that `atomic_file` would raise then."""
    if str(path) == "-":
        raise TileError("-", "is not the name of a file, and stdout is for the result", "name a file")
    target = _resolved(path)
    if _is_directory(path, target):
        raise TileError(str(path), "is a directory", "name a file")
    if _is_special(target):
        return
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise _unwritable(path, error) from None
    os.close(handle)
    os.unlink(name)


def require_apart(outputs: Mapping[str, Path | None], inputs: Mapping[str, Path]) -> None:
    """A TileError if a result would replace what a tool reads, or another result.

    Outputs are named by their options, inputs by what they are; what is no file or directory is no input. Of an input
    that is a directory, no file is replaced.
    """
    taken = {where: path for where, path in outputs.items() if path is not None}
    for number, (option, path) in enumerate(taken.items()):
        target = _resolved(path)
        if _is_special(target):
            continue
        for what, source in inputs.items():
            given = Path(os.path.realpath(source))
            if (target == given and os.path.isfile(given)) or (given in target.parents and os.path.isfile(target)):
                raise TileError(f"{option} {path}", f"would replace {what}", "name another file")
        for other in list(taken)[:number]:
            if _resolved(taken[other]) == target:
                raise TileError(f"{option} {path}", f"is also what {other} writes", "name another file")


def require_outside(outputs: Mapping[str, Path | None], folder: Path) -> None:
    """A TileError if a result, by its option, would be written to ``folder`` or into it, where a package goes."""
    whole = Path(os.path.realpath(folder))
    for option, path in outputs.items():
        if path is not None and (target := _resolved(path)).is_relative_to(whole) and not _is_special(target):
            what = "is where the package is written" if target == whole else f"lies in the package '{folder}'"
            raise TileError(f"{option} {path}", what, "name another place")


def require_folder(path: Path) -> None:
    """A TileError if no directory can be made at ``path``, or nothing in the one that stands there."""
    above = Path(os.path.realpath(path))
    try:
        while not above.exists() and above != above.parent:
            above = above.parent
        if not above.is_dir():
            raise TileError(str(path), f"cannot be made: '{above}' is not a directory", "give another name")
        os.rmdir(tempfile.mkdtemp(prefix=f".{path.name}.", dir=above))
    except OSError as error:
        raise _unwritable(path, error) from None


def require_no_file(option: str, folder: Path, outputs: Mapping[str, Path | None]) -> None:
    """A TileError if a result, by its option, would be a file where the ``folder`` of ``option`` is to be, or above."""
    whole = Path(os.path.realpath(folder))
    for other, path in outputs.items():
        if path is not None and whole.is_relative_to(target := _resolved(path)):
            what = f"is also what {other} writes" if target == whole else f"lies in what {other} writes"
            raise TileError(f"{option} {folder}", what, "name another place")


@contextmanager
def atomic_file(path: Path) -> Generator[Path]:
    """Yields the path of a temporary file; on success it becomes ``path``, on any exception it is removed.

    A TileError about ``path`` if nothing can be written there, or if the disk is full before all is written.
    """
    target = _resolved(path)
    if _is_directory(path, target):
        raise TileError(str(path), "is a directory", "name a file")
    special = _is_special(target)
    temporary: Path | None = None
    try:
        with uninterrupted():
            try:
                handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=None if special else target.parent)
            except OSError as error:
                raise _unwritable(path, error) from None
            temporary = Path(name)
            os.close(handle)
        try:
            yield temporary
        except OSError as error:
            if not _is_of_storage(error, temporary):
                raise
            raise _unwritable(path, error) from None
        try:
            if special:
                _copy(temporary, target)
            else:
                os.chmod(temporary, 0o666 & ~_umask())
                os.replace(temporary, target)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _unwritable(path, error) from None
    finally:
        with uninterrupted():
            if temporary is not None:
                temporary.unlink(missing_ok=True)


@contextmanager
def atomic_directory(path: Path) -> Generator[Path]:
    """Yields a temporary directory; on success it replaces ``path``, on any exception it is removed.

    A directory that already stands at ``path`` is kept until the new one is complete.
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary: Path | None = None
    try:
        with uninterrupted():
            temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        yield temporary
        os.chmod(temporary, 0o777 & ~_umask())
        with uninterrupted():
            if target.exists():
                _exchange(temporary, target)
            else:
                os.replace(temporary, target)
    finally:
        with uninterrupted():
            if temporary is not None:
                shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def uninterrupted() -> Generator[None]:
    """Signals that end a tool wait until the context is left: what is begun in it is done as a whole."""
    waiting: list[int] = []
    usual: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():  # only there can handlers be changed, and do they run
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if callable(signal.getsignal(number)):
                usual[number] = signal.signal(number, lambda number, _: waiting.append(number))
    try:
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
        if waiting:
            signal.raise_signal(waiting[0])


def _exchange(new: Path, target: Path) -> None:
    """Puts ``new`` in the place of the directory ``target``, which is deleted, or put back if that fails."""
    retired = Path(tempfile.mkdtemp(prefix=f".{target.name}.old.", dir=target.parent))
    old = retired / "old"
    try:
        os.replace(target, old)
        os.replace(new, target)
    finally:
        if old.exists() and not target.exists():
            os.replace(old, target)
        shutil.rmtree(retired, ignore_errors=True)


def _resolved(path: Path) -> Path:
    """Where ``path`` leads through symbolic links; an open descriptor of a process is not followed further."""
    for _ in range(_MOST_LINKS):
        path = Path(os.path.realpath(path.parent)) / path.name
        if _DESCRIPTORS.fullmatch(str(path.parent)) or not path.is_symlink():
            return path
        path = path.parent / path.readlink()
    return path


def is_device(path: Path) -> bool:
    """Whether a device is at ``path``, which may give bytes without end (`/dev/zero`). A standard stream is not asked:
    `/dev/stdin` may be a terminal."""
    target = _resolved(path)
    try:
        mode = target.stat().st_mode
    except OSError:
        return False
    return (stat.S_ISCHR(mode) or stat.S_ISBLK(mode)) and not _DESCRIPTORS.fullmatch(str(target.parent))


def _is_directory(path: Path, target: Path) -> bool:
    """Whether a directory stands at ``target``; a TileError about ``path`` if the system cannot say."""
    try:
        return target.is_dir()
    except OSError as error:
        raise _unwritable(path, error) from None


def _is_special(target: Path) -> bool:
    """Whether something is there that must be written to, and not be replaced."""
    try:
        return bool(_DESCRIPTORS.fullmatch(str(target.parent))) or not stat.S_ISREG(target.stat().st_mode)
    except OSError:
        return False


def _copy(source: Path, target: Path) -> None:
    """Writes the content of ``source`` to ``target``, which is there. Own descriptors go on where they are."""
    own = str(target.parent) in ("/dev/fd", f"/proc/{os.getpid()}/fd") and target.name.isdecimal()
    handle = os.dup(int(target.name)) if own else os.open(target, os.O_WRONLY)
    with os.fdopen(handle, "wb") as out, source.open("rb") as content:
        shutil.copyfileobj(content, out)


def _is_of_storage(error: OSError, path: Path) -> bool:
    """Whether it says that what is written to ``path`` finds no place."""
    return error.errno in _STORAGE_ERRORS and str(error.filename) in ("None", str(path))


def _unwritable(path: Path, error: OSError) -> TileError:
    if error.errno == errno.ENAMETOOLONG:
        return TileError(str(path), "cannot be written: file name too long", "shorten it")
    if not path.parent.exists():
        return TileError(str(path), f"cannot be written: there is no directory '{path.parent}'", "make it first")
    return TileError(str(path), f"cannot be written: {system_reason(error)}", "name another place")


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
