"""The command line of `tile-report`. Imports no IR, so that `--help` is quick."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..support.diagnostics import TileError
from .command_line import CommandLine, VersionAction

DESCRIPTION = """\
Shows the runtime proxies of a package or a guard report, or compares two of the same model.
"""

EPILOG = """\
examples:
  tile-compile model.onnx -o old/ --guard-report old.json
  tile-report show old.json                       the proxies after each pass
  tile-report show old/                           those of the package
  tile-report diff old.json new.json              exit code 1 if a proxy is worse

Results go to stdout. Exit codes: 0 success, 1 an error in the input or a proxy that is worse, 70 an error in tile.
"""


@dataclass(frozen=True)
class ReportOptions:
    """What one run of `tile-report` is asked to do."""

    command: str
    paths: tuple[Path, ...]
    machine: str | None
    all: bool
    json: bool


def parse_arguments(arguments: Sequence[str]) -> ReportOptions:
    """Reads the command line. A TileError if it is wrong; SystemExit after `--help`."""
    parser = CommandLine("tile-report", DESCRIPTION)
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("command", choices=("show", "diff"), help="show one, or compare two")
    add("paths", nargs="+", type=Path, metavar="PATH", help="a package, or the JSON file of --guard-report")
    add(
        "--machine", metavar="NAME|FILE.json", help="the machine of a package, for cycles (default: preset by its name)"
    )
    add("--all", action="store_true", help="also fields that are equal")
    add("--json", action="store_true", help="print JSON")
    add("--version", action=VersionAction, nargs=0, default=argparse.SUPPRESS, help="print the version and exit")
    given = parser.parse(arguments)
    wanted = 2 if given.command == "diff" else 1
    if len(given.paths) != wanted:
        raise TileError(
            "tile-report", f"{given.command} takes {wanted} of PATH, {len(given.paths)} given", "see --help"
        )
    return ReportOptions(given.command, tuple(given.paths), given.machine, given.all, given.json)
