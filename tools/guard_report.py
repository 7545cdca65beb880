"""The guard of a tool: made from its options, its report written also if the run fails."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..support.files import atomic_file

if TYPE_CHECKING:
    from ..passes.guard import Guard


def make_guard(mode: str, report: Path | None) -> Guard | None:
    """The guard that `--guard` asks for; None if nothing is to be looked at."""
    if mode == "off" and report is None:
        return None
    from ..passes.guard import Guard, Mode

    return Guard(Mode(mode))


@contextmanager
def guard_report(guard: Guard | None, path: Path | None) -> Generator[None]:
    """Writes the report of what the guard found within the context, also when it rejected a pass. Of a run that was
    interrupted there is none: it would look like that of a run that has passed.

    Where an error comes of a pass that the guard has undone, it says so.
    """
    try:
        yield
    except Exception as error:
        _write(guard, path)
        reason = None if guard is None else guard.explained(error)
        if reason is None:
            raise
        raise reason from error
    _write(guard, path)


def _write(guard: Guard | None, path: Path | None) -> None:
    if guard is not None and path is not None:
        with atomic_file(path) as temporary:
            temporary.write_text(guard.report(), encoding="utf-8")
