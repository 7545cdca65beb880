"""The options of the guard, the same in every tool that runs passes. Imports no IR, so that `--help` is quick."""

from __future__ import annotations

import argparse
from pathlib import Path

GUARD_MODES = ("error", "rollback", "report", "off")
"""What `--guard` takes: the modes of `passes/guard_mode.py`."""

DEFAULT_GUARD = "error"


def add_guard_options(parser: argparse.ArgumentParser) -> None:
    """Adds `--guard` and `--guard-report`."""
    add = parser.add_argument_group("guard").add_argument
    add("--guard", choices=GUARD_MODES, default=DEFAULT_GUARD,
        help="what to do about a pass that serializes work, adds copies, messages or instructions, or lengthens the "
        f"critical path: stop, undo its change, warn, or do not look (default {DEFAULT_GUARD})")  # fmt: skip
    add("--guard-report", type=Path, metavar="FILE.json", help="write the proxies before and after each pass to FILE")
