"""The command line of `tile-compile`. Imports no IR, so that `--help` is quick."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..support.diagnostics import TileError
from .command_line import CommandLine, VersionAction, dimension
from .guard_arguments import add_guard_options

DESCRIPTION = """\
Compiles an ONNX network for a processing-in-memory chip: one instruction stream per core, weights, memory image.
"""

EPILOG = """\
examples:
  tile-compile model.onnx -o out/                             for the reference machine of 144 cores
  tile-compile model.onnx -o model.tilepkg --machine chip.json --dim batch=1
  tile-compile model.onnx -o out/ --samples 8                 eight samples in flight: least time per sample
  tile-compile model.onnx -o out/ --print-ir-tree-dir ir/     keep the module after each pass

A summary goes to stdout, everything else to stderr. Exit codes: 0 success, 1 an error in the input, 70 an error in
tile, 128 + N ended by signal N.
"""


_TARGET_DEFAULTS: dict[str, object] = {
    "--machine": "reference144",
    "--weight-bits": 8,
    "--activation-bits": 8,
    "--no-replicate": True,
    "--samples": 1,
}
"""The option that sets it, and what holds without it."""

MOST_SAMPLES = 1_000_000
"""More are no network that can be scheduled."""


@dataclass(frozen=True)
class CompileOptions:
    """What one run of `tile-compile` is asked to do."""

    # These affect the package.
    model: str
    machine: str
    weight_bits: int
    activation_bits: int
    replicate: bool
    samples: int
    dims: tuple[tuple[str, int], ...]
    pipeline: str | None
    guard: str

    # These do not.
    output: Path
    resources: tuple[Path, ...]
    verify_each: bool
    guard_report: Path | None
    build_report: Path | None
    print_ir_tree_dir: Path | None
    timing: bool
    pass_statistics: bool
    json: bool
    quiet: bool
    verbose: bool

    def manifest(self, pipeline: str) -> dict[str, object]:
        """The options that affect the package, as the manifest records them. Files are there by their hashes.

        ``pipeline`` is the canonical text of the passes; it is recorded if they are not the default ones.
        """
        content: dict[str, object] = {}
        if self.pipeline is None:
            content.update(weight_bits=self.weight_bits, activation_bits=self.activation_bits, replicate=self.replicate)
            content["samples"] = self.samples
        else:
            content["pipeline"] = pipeline
        if self.guard == "off":
            content["guard"] = self.guard  # the package's report then lacks the proxies
        if self.dims:
            content["dims"] = {name: extent for name, extent in sorted(self.dims)}
        return content


def parse_arguments(arguments: Sequence[str]) -> CompileOptions:
    """The options that the arguments ask for; a TileError for what makes no sense."""
    given = _parser().parse(arguments)
    given.dims, given.resources = tuple(given.dims), tuple(given.resources)
    _set_target(given)
    options = CompileOptions(**vars(given))
    if len({name for name, _ in options.dims}) < len(options.dims):
        raise TileError("--dim", "binds one dimension twice", "keep one of the values")
    return options


def _set_target(given: argparse.Namespace) -> None:
    """Gives the target options their defaults; a TileError if the passes are given, which have options of their own."""
    for option, default in _TARGET_DEFAULTS.items():
        name = option.removeprefix("--no-").removeprefix("--").replace("-", "_")
        if getattr(given, name) is None:
            setattr(given, name, default)
        elif given.pipeline is not None:
            what = "does not apply to the passes of --pass-pipeline"
            raise TileError(option, what, "give it as an option in the pipeline's text: 'tile-default{...}'")
    if not given.machine:
        raise TileError("--machine", "is empty", "give the name of a preset, or an architecture file")


def _parser() -> CommandLine:
    parser = CommandLine("tile-compile", DESCRIPTION)
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter

    add = parser.add_argument_group("input and output").add_argument
    add("model", metavar="MODEL",
        help="an .onnx file, or .mlir text of the onnx dialect; text of a lower level needs --pass-pipeline with the "
        "passes that remain, '' for none; '-' is stdin")  # fmt: skip
    add("-o", "--output", type=Path, required=True, metavar="PACKAGE", help="a directory, or one file NAME.tilepkg")
    add("--dim", dest="dims", action="append", default=[], type=dimension, metavar="NAME=N",
        help="bind a symbolic dimension of the model")  # fmt: skip
    add("--resources", action="append", default=[], type=Path, metavar="FILE.npz",
        help="arrays that .mlir text names by digest")  # fmt: skip

    add = parser.add_argument_group("target").add_argument
    add("--machine", metavar="NAME|FILE.json",
        help="preset or architecture file of the chip (default reference144)")  # fmt: skip
    add("--weight-bits", type=_bits, metavar="N", help="bits of a weight in the arrays (default 8)")
    add("--activation-bits", type=_bits, metavar="N", help="bits of an activation (default 8)")
    add(
        "--no-replicate",
        dest="replicate",
        action="store_false",
        default=None,
        help="one copy of the weights, in the fewest parts",
    )
    add("--samples", type=_count, metavar="N",
        help="compile for N samples in flight: least time per sample instead of least latency (default 1)")  # fmt: skip
    add("--pass-pipeline", dest="pipeline", metavar="PIPELINE",
        help="run these passes instead of the default pipeline; target options then stand in its text")  # fmt: skip

    add = parser.add_argument_group("checking and reporting").add_argument
    add("--verify-each", action="store_true", default=True, help="verify the module after each pass (the default)")
    add("--no-verify-each", action="store_false", dest="verify_each", help="do not verify it")
    add_guard_options(parser)
    add("--build-report", type=Path, metavar="FILE.json",
        help="write the compiler's time and memory, and the proxies of every stage, to FILE, for tile-report "
        "diff")  # fmt: skip
    add("--print-ir-tree-dir", type=Path, metavar="DIR",
        help="write the module after each pass to a file in DIR, and all arrays to DIR/resources.npz")  # fmt: skip
    add("--timing", action="store_true", help="report the time of each pass and of code generation")
    add("--pass-statistics", action="store_true", help="report what the passes counted")
    add("--json", action="store_true", help="print the summary as one JSON object")
    add("--quiet", "-q", action="store_true", help="print no summary and no progress")
    add("--verbose", "-v", action="store_true", help="say which pass runs; tracebacks for errors in tile")
    add("--version", action=VersionAction, nargs=0, default=argparse.SUPPRESS, help="print the version and exit")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text[:20]) <= MOST_SAMPLES:
        raise argparse.ArgumentTypeError(f"expected a number from 1 to {MOST_SAMPLES}, not '{text}'")
    return int(text)


def _bits(text: str) -> int:
    if text not in ("1", "2", "4", "8", "16", "32"):
        raise argparse.ArgumentTypeError(f"expected 1, 2, 4, 8, 16 or 32, not '{text}'")
    return int(text)
