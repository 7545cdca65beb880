"""The command line of `tile-run`. Imports neither IR nor simulator, so that `--help` is quick."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..support.diagnostics import TileError
from .command_line import CommandLine, VersionAction, at_least_zero, number, seed

DESCRIPTION = """\
Executes a package that tile-compile wrote, from the package alone, on a functional simulator of the chip; or times it.
"""

EPILOG = """\
examples:
  tile-run out/ --input image.npy                           print a summary of the outputs
  tile-run out/ --input x=image.npy -o result.npz           keep them
  tile-run out/ --input digits.npz:x --batch --argmax       classify many samples
  tile-run out/ --input digits.npz:x --scale 1/255 --batch --labels digits.npz:y      ... and count the right ones
  tile-run out/ --random 0 --check --model model.onnx       compare with onnxruntime on random data
  tile-run out/ --timing                                    how long it takes, and what the cores do meanwhile
  tile-run out/ --timing --trace trace.json.gz              ... to look at in Perfetto's UI or chrome://tracing
  tile-run out/ --timing --mode throughput --json           ... when every core begins again at once; all figures

Results go to stdout, everything else to stderr. Exit codes: 0 success, 1 an error in the input, a failed check,
or a timed run that does not finish, 70 an error in tile, 128 + N ended by signal N.
"""


@dataclass(frozen=True)
class RunOptions:
    """What one run of `tile-run` is asked to do. None of it affects the package."""

    package: Path
    inputs: tuple[str, ...]
    random: int | None
    scale: float | None
    batch: bool
    limit: int | None

    output: Path | None
    output_dir: Path | None
    argmax: bool
    labels: str | None

    check: bool
    model: Path | None
    tolerance: float
    check_report: Path | None
    poison: bool

    timing: bool
    machine: str | None
    other_machine: bool
    mode: str | None
    sim_time: float | None
    first_come: bool
    trace: Path | None
    trace_gap: float | None
    trace_flows: int | None

    json: bool
    quiet: bool
    verbose: bool


def parse_arguments(arguments: Sequence[str]) -> RunOptions:
    """The options that the arguments ask for; a TileError for what makes no sense."""
    options = RunOptions(**vars(_parser().parse(arguments)))
    _check_timing(options)
    if options.check and options.model is None:
        raise TileError("--check", "needs the model to compare with", "add --model FILE.onnx")
    if options.model is not None and not options.check:
        raise TileError("--model", "is only used with --check", "add --check")
    if options.check_report is not None and not options.check:
        raise TileError("--check-report", "is only used with --check", "add --check")
    if options.inputs and options.random is not None:
        raise TileError("--random", "and --input exclude each other", "remove one")
    if options.output is not None and options.output_dir is not None:
        raise TileError("--output-dir", "and -o exclude each other", "remove one")
    if options.limit is not None and not options.batch:
        raise TileError("--limit", "is only used with --batch", "add --batch")
    return options


def _check_timing(options: RunOptions) -> None:
    """Executing and timing are two things: options of the one make no sense with the other."""
    if options.timing:
        executing = {
            "--input": options.inputs,
            "--random": options.random is not None,
            "--batch": options.batch,
            "--scale": options.scale is not None,
            "--output": options.output is not None,
            "--output-dir": options.output_dir is not None,
            "--argmax": options.argmax,
            "--labels": options.labels is not None,
            "--check": options.check,
            "--poison": options.poison,
        }
        for name, given in executing.items():
            if given:
                raise TileError(name, "is not used with --timing, which executes nothing", "remove one")
        if options.trace == Path("-"):
            raise TileError("--trace", "goes to a file, not to standard output", "name one")
        if options.trace is not None and options.mode == "throughput":
            raise TileError("--trace", "is of one run of every core, not of --mode throughput", "remove one")
        for name, given in {"--trace-gap": options.trace_gap, "--trace-flows": options.trace_flows}.items():
            if given is not None and options.trace is None:
                raise TileError(name, "is only used with --trace", "add --trace FILE.json")
        return
    for name, given in {
        "--machine": options.machine is not None,
        "--other-machine": options.other_machine,
        "--mode": options.mode is not None,
        "--sim-time": options.sim_time is not None,
        "--first-come": options.first_come,
        "--trace": options.trace is not None,
        "--trace-gap": options.trace_gap is not None,
        "--trace-flows": options.trace_flows is not None,
    }.items():
        if given:
            raise TileError(name, "is only used with --timing", "add --timing")


def _parser() -> CommandLine:
    parser = CommandLine("tile-run", DESCRIPTION)
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("package", type=Path, metavar="PACKAGE", help="a directory or .tilepkg file")
    _add_inputs(parser)
    _add_outputs(parser)
    _add_check(parser)
    _add_timing(parser)
    parser.add_argument("--quiet", "-q", action="store_true", help="print no progress and no summary")
    parser.add_argument("--verbose", "-v", action="store_true", help="say what is done; tracebacks for errors in tile")
    parser.add_argument(
        "--version", action=VersionAction, nargs=0, default=argparse.SUPPRESS, help="print the version and exit"
    )
    return parser


def _add_inputs(parser: CommandLine) -> None:
    group = parser.add_argument_group("inputs")
    group.add_argument(
        "--input",
        "-i",
        dest="inputs",
        action="append",
        default=[],
        metavar="[NAME=]FILE[:KEY]",
        help="an .npy file, or an array of an .npz file; NAME may be left out when there is one input, KEY when the "
        "file has one array or one called like the input",
    )
    group.add_argument("--random", type=seed, metavar="SEED", help="random inputs, from a standard normal distribution")
    group.add_argument(
        "--scale", type=_factor, metavar="FACTOR", help="multiply the inputs by this: 1/255 for images of bytes"
    )
    group.add_argument(
        "--batch",
        action="store_true",
        help="the inputs' leading axis counts samples; run each, or as many at once as the package takes",
    )
    group.add_argument("--limit", type=_positive, metavar="N", help="run only the first N samples")


def _add_outputs(parser: CommandLine) -> None:
    group = parser.add_argument_group("outputs")
    group.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the outputs: .npz, or .npy if one")
    group.add_argument("--output-dir", type=Path, metavar="DIR", help="write each output to DIR/NAME.npy")
    group.add_argument("--argmax", action="store_true", help="print the index of the greatest element, per sample")
    group.add_argument("--labels", metavar="FILE[:KEY]", help="the right answer for each sample: print how many agree")
    group.add_argument("--json", action="store_true", help="print results as one JSON object")


def _add_check(parser: CommandLine) -> None:
    group = parser.add_argument_group("check")
    group.add_argument("--check", action="store_true", help="compare with onnxruntime; exit 1 if too far apart")
    group.add_argument("--model", type=Path, metavar="FILE.onnx", help="the model that the package was compiled from")
    group.add_argument(
        "--tolerance",
        type=at_least_zero,
        default=1e-3,
        metavar="T",
        help="greatest allowed error, relative to the range of the output (default 1e-3)",
    )
    group.add_argument(
        "--check-report", type=Path, metavar="FILE.json", help="write what --check finds to FILE, for tile-report diff"
    )
    group.add_argument("--poison", action="store_true", help="memory that was never written reads as NaN, not as 0")


def _add_timing(parser: CommandLine) -> None:
    group = parser.add_argument_group("timing")
    group.add_argument(
        "--timing",
        action="store_true",
        help="print time and energy, as the pimsim-nn simulator computes them, instead of executing on data; PACKAGE "
        "may also be a stream for that simulator (program.json, program.json.gz)",
    )
    group.add_argument(
        "--machine", metavar="NAME|FILE", help="the machine, if the package's is not a preset; it must be the package's"
    )
    group.add_argument(
        "--other-machine", action="store_true", help="time it even on a machine that is not the package's"
    )
    group.add_argument(
        "--mode",
        choices=("latency", "throughput"),
        help="run every core once (the default), or begin again and again and count rounds",
    )
    group.add_argument(
        "--sim-time",
        type=_duration,
        metavar="MS",
        help="stop after MS ms of simulated time (throughput: by default the time that the machine file gives)",
    )
    group.add_argument(
        "--first-come",
        action="store_true",
        help="events of one instant happen in the order of their causes, not in the order of the simulator's heap",
    )
    group.add_argument(
        "--trace",
        type=Path,
        metavar="FILE.json[.gz]",
        help="write when every unit of every core works on which layer, in the Trace Event format",
    )
    group.add_argument(
        "--trace-gap",
        type=_gap,
        metavar="NS",
        help="join what one unit does for one layer if no more than so much time lies between (default 0); for small "
        "files",
    )
    group.add_argument(
        "--trace-flows",
        type=_count,
        metavar="N",
        help="arrows for the first N messages, from send to recv (default 1000)",
    )


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 on, of at most 18 digits, not '{text}'")
    return int(text)


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:20]) < 2**63:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not '{text}'")
    return int(text)


def _factor(text: str) -> float:
    numerator, slash, denominator = text.partition("/")
    try:
        value = float(numerator) / (float(denominator) if slash else 1.0)
    except (ValueError, ZeroDivisionError):
        raise argparse.ArgumentTypeError(f"must be a number or a fraction, not {text}") from None
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"must be finite, not {text}")
    return value


def _duration(text: str) -> float:
    value = number(text)
    if not 0 < value <= 1e9:
        raise argparse.ArgumentTypeError(f"must be more than 0 and at most 1e9, not {text}")
    return value


def _gap(text: str) -> float:
    value = number(text)
    if not 0 <= value <= 1e15:
        raise argparse.ArgumentTypeError(f"must be from 0 to 1e15, not {text}")
    return value
