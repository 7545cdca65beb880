"""The command line of `tile-report`. Imports no IR, so that `--help` is quick."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..support.diagnostics import TileError
from .command_line import CommandLine, VersionAction, at_least_zero, seed

DESCRIPTION = """\
Shows what a compiled program costs and how parallel it is, or compares two builds of one model.
"""

_EXAMPLES = """\
examples:
  tile-report show out/                          what the program comes to
  tile-report show out/ --idle                   why its cores are idle, by the clock
  tile-report show out/ --layers                 where the time goes by layer
  tile-report show build.json                    what each pass made of it
  tile-report diff old/ new/                     exit code 1 if any proxy is worse
  tile-report diff old/ new/ --check --model model.onnx --builds old.json new.json
                                                 with numerical validation, compiler time and memory

"""

_EPILOG = """\
PATH is a package, or a file that --build-report or --guard-report of tile-compile wrote. Results go to stdout. Exit
codes: 0 success, 1 an error in the input or something that is worse, 70 an error in tile, 128 + N ended by signal N.
"""

COMMANDS = {
    "show": "Shows what one compiled program costs and how parallel it is.",
    "diff": "Compares two builds of one model.",
}
_SECONDS = 50.0
_BYTES = 10.0
_TOLERANCE = 1e-3


@dataclass(frozen=True)
class ReportOptions:
    """What one run of `tile-report` is asked to do."""

    command: str
    paths: tuple[Path, ...]
    machine: str | None
    clock: bool
    idle: bool
    layers: bool
    builds: tuple[Path, Path] | None
    checks: tuple[Path, Path] | None
    check: bool
    model: Path | None
    seed: int
    tolerance: float
    max_slowdown: float
    max_growth: float
    without: tuple[str, ...]
    complete: bool
    all: bool
    json: bool


_DIFF_ONLY: dict[str, Any] = {
    "builds": None,
    "checks": None,
    "check": False,
    "model": None,
    "seed": 0,
    "tolerance": _TOLERANCE,
    "max_slowdown": _SECONDS,
    "max_growth": _BYTES,
    "without": (),
    "complete": False,
}
"""Options of `diff` alone, and their values when they are not given."""


def parse_arguments(arguments: Sequence[str]) -> ReportOptions:
    """Reads the command line. A TileError if it is wrong; SystemExit after `--help`."""
    asked = any(one.startswith("-") and one.lstrip("-") in ("h", "help") for one in arguments)
    given = _parser(arguments[0] if asked and arguments[0] in COMMANDS else None).parse(arguments)
    given.paths, given.without = tuple(given.paths), tuple(given.without)
    for name in ("builds", "checks"):
        if getattr(given, name) is not None:
            setattr(given, name, tuple(getattr(given, name)))
    options = ReportOptions(**vars(given))
    wanted = 2 if options.command == "diff" else 1
    if len(options.paths) != wanted:
        raise TileError(
            "tile-report", f"{options.command} takes {wanted} of PATH, {len(options.paths)} given", "see --help"
        )
    if options.command == "show":
        for name, usual in _DIFF_ONLY.items():
            if getattr(options, name) != usual:
                raise TileError(f"--{name.replace('_', '-')}", "is only used with diff", "remove it")
        if options.idle and options.layers:
            raise TileError("--layers", "and --idle exclude each other", "remove one")
    else:
        for name in ("idle", "layers"):
            if getattr(options, name):
                raise TileError(f"--{name}", "is only used with show", "remove it")
    for name in ("model", "seed", "tolerance"):
        if getattr(options, name) != _DIFF_ONLY[name] and not options.check:
            raise TileError(f"--{name}", "is only used with --check", "add --check")
    if options.check and options.checks is not None:
        raise TileError("--checks", "and --check exclude each other", "remove one")
    return options


def _parser(command: str | None) -> CommandLine:
    """The parser, or one that only has the options of ``command``, for its help."""
    if command is None:
        parser = CommandLine("tile-report", DESCRIPTION)
        parser.epilog = _EXAMPLES + _EPILOG
        parser.add_argument("command", choices=tuple(COMMANDS), help="show one, or compare two: before, after")
    else:
        parser = CommandLine(f"tile-report {command}", COMMANDS[command])
        parser.epilog = _EPILOG
        parser.add_argument("command", choices=(command,), help=argparse.SUPPRESS)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("paths", nargs=2 if command == "diff" else "+" if command is None else 1, type=Path, metavar="PATH",
        help="a package or a report")  # fmt: skip
    add("--machine", metavar="NAME|FILE.json", help="the machine of the packages (default: the preset of its name)")
    add("--no-clock", dest="clock", action="store_false", help="do not time packages with the clock")
    add("--all", action="store_true", help="show: the proxies after every pass; diff: also fields that are equal")
    add("--json", action="store_true", help="print JSON")
    add("--version", action=VersionAction, nargs=0, default=argparse.SUPPRESS, help="print the version and exit")

    if command != "diff":
        _add_show(parser)
    if command != "show":
        _add_diff(parser)
    return parser


def _add_show(parser: CommandLine) -> None:
    add = parser.add_argument_group("show").add_argument
    add("--idle", action="store_true", help="how long each core of a package is idle, and what for")
    add("--layers", action="store_true",
        help="what each node of the network occupies and takes, and its share of the critical path")  # fmt: skip


def _add_diff(parser: CommandLine) -> None:
    add = parser.add_argument_group("diff").add_argument
    pair = ("BEFORE.json", "AFTER.json")
    add("--builds", nargs=2, type=Path, metavar=pair,
        help="compiler time and memory: what --build-report of tile-compile wrote for each")  # fmt: skip
    add("--checks", nargs=2, type=Path, metavar=pair,
        help="numerical validation: what --check-report of tile-run wrote for each")  # fmt: skip
    add("--check", action="store_true", help="execute both packages on the same random inputs and compare the outputs")
    add("--model", type=Path, metavar="FILE.onnx", help="with --check: compare with onnxruntime for this model as well")
    add("--seed", type=seed, default=0, metavar="N", help="with --check: seed of the random inputs (default 0)")
    add("--tolerance", type=at_least_zero, default=_TOLERANCE, metavar="T",
        help="with --check: greatest allowed error, relative to the range of the output (default 1e-3)")  # fmt: skip
    add("--max-slowdown", type=at_least_zero, default=_SECONDS, metavar="PERCENT",
        help=f"time of the compiler counts as worse if it grows by more than this (default {_SECONDS:g})")  # fmt: skip
    add("--max-growth", type=at_least_zero, default=_BYTES, metavar="PERCENT",
        help=f"memory of the compiler counts as worse if it grows by more than this (default {_BYTES:g})")  # fmt: skip
    add("--without", action="append", default=[], metavar="STAGE",
        help="leave out a stage that only one of the two has: the name of a pass")  # fmt: skip
    add("--complete", action="store_true", help="fail also for what neither of the two has recorded")
