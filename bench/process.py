"""Runs one command in a process of its own, and tells what it took."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Usage:
    """What one process took, its start and end included."""

    wall_s: float
    user_s: float
    system_s: float
    peak_rss_bytes: int


class CommandError(Exception):
    """A command failed; its text is what it wrote to stderr last."""


def tool(name: str) -> str:
    """The command of this environment."""
    return str(Path(sys.executable).parent / name)


def run(command: Sequence[str]) -> tuple[str, Usage]:
    """What the command prints to stdout, and what it took. Raises a CommandError if its exit code is not 0.

    The kernel counts as a process's memory what its parent had when it started it, so that the parent has to be small.
    """
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as complaints:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=printed, stderr=complaints)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        printed.seek(0)
        complaints.seek(0)
        text = printed.read().decode()
        if process.returncode:
            lines = complaints.read().decode(errors="replace").strip().splitlines()
            raise CommandError(lines[-1] if lines else f"{command[0]}: exit code {process.returncode}")
    return text, Usage(wall, used.ru_utime, used.ru_stime, used.ru_maxrss * 1024)
