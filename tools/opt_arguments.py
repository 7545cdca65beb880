"""The command line of `tile-opt`. Imports no IR, so that `--help` is quick."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from ..passes.registry import NAMED_PIPELINES, PASSES
from ..support.diagnostics import TileError
from .command_line import CommandLine, VersionAction, dimension
from .guard_arguments import add_guard_options

Listing: TypeAlias = Literal["passes", "dialects"]

EPILOG = """\
Every pass is an option too: '--canonicalize --cse' means '-p canonicalize,cse'; '--some-pass="x=1 y"' sets options.
Dumps, timing, statistics and errors go to stderr. Exit codes: 0 success, 1 an error in the input, 70 an error in tile,
128 + N ended by signal N.
"""


@dataclass(frozen=True)
class OptOptions:
    """What one run of `tile-opt` is asked to do."""

    input: str
    output: Path | None
    pipeline: str
    pipeline_source: str
    """The option that the pipeline comes from, for errors."""
    plugins: tuple[str, ...]
    dims: tuple[tuple[str, int], ...]
    resources: tuple[Path, ...]
    emit_resources: Path | None
    allow_unregistered_dialect: bool

    split_input_file: bool
    verify_each: bool
    verify_diagnostics: bool
    crash_reproducer: Path | None
    guard: str
    guard_report: Path | None

    print_op_generic: bool
    print_debuginfo: bool
    elide_larger_than: int | None
    print_ir_before: tuple[str, ...]
    print_ir_after: tuple[str, ...]
    print_ir_before_all: bool
    print_ir_after_all: bool
    print_ir_after_change: bool
    print_ir_after_failure: bool
    print_ir_tree_dir: Path | None
    dump_pass_pipeline: bool
    timing: bool
    pass_statistics: bool

    listing: Listing | None
    quiet: bool
    verbose: bool


def parse_arguments(arguments: Sequence[str]) -> OptOptions:
    """Reads the command line. A TileError if it is wrong; SystemExit after `--help` and `--version`."""
    parser = _parser()
    given = parser.parse(arguments)
    pipeline, source = _pipeline(given)
    return OptOptions(
        input=given.input,
        output=given.output,
        pipeline=pipeline,
        pipeline_source=source,
        plugins=tuple(given.load_pass_plugin),
        dims=tuple(given.dim),
        resources=tuple(given.resources),
        emit_resources=given.emit_resources,
        allow_unregistered_dialect=given.allow_unregistered_dialect,
        split_input_file=given.split_input_file,
        verify_each=given.verify_each,
        verify_diagnostics=given.verify_diagnostics,
        crash_reproducer=given.crash_reproducer,
        guard=given.guard,
        guard_report=given.guard_report,
        print_op_generic=given.print_op_generic,
        print_debuginfo=given.print_debuginfo,
        elide_larger_than=given.elide_larger_than,
        print_ir_before=tuple(name for names in given.print_ir_before for name in names),
        print_ir_after=tuple(name for names in given.print_ir_after for name in names),
        print_ir_before_all=given.print_ir_before_all,
        print_ir_after_all=given.print_ir_after_all,
        print_ir_after_change=given.print_ir_after_change,
        print_ir_after_failure=given.print_ir_after_failure,
        print_ir_tree_dir=given.print_ir_tree_dir,
        dump_pass_pipeline=given.dump_pass_pipeline,
        timing=given.timing,
        pass_statistics=given.pass_statistics,
        listing=given.listing,
        quiet=given.quiet,
        verbose=given.verbose,
    )


def _parser() -> CommandLine:
    parser = CommandLine("tile-opt", "Run compiler passes on textual IR or on an ONNX model.")
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    _add_input(parser)
    _add_passes(parser)
    _add_checking(parser)
    add_guard_options(parser)
    _add_printing(parser)

    add = parser.add_argument_group("messages").add_argument
    add("--quiet", "-q", action="store_true", help="print no result to stdout: only check the input and the passes")
    add("--verbose", "-v", action="store_true", help="say which pass runs, and print tracebacks of internal errors")
    add("--version", action=VersionAction, nargs=0, help="print the version and exit")
    return parser


def _add_input(parser: CommandLine) -> None:
    add = parser.add_argument_group("input and output").add_argument
    add("input", nargs="?", default="-", help=".mlir or .onnx file; '-', the default, is stdin")
    add("-o", dest="output", type=Path, metavar="FILE", help="write the result to FILE, whole or not at all")
    add("--dim", action="append", default=[], type=dimension, metavar="NAME=N", help="bind a symbolic dimension")
    add(
        "--resources",
        action="append",
        default=[],
        type=Path,
        metavar="FILE.npz",
        help="load arrays that the text names by digest",
    )
    add("--emit-resources", type=Path, metavar="FILE.npz", help="write the arrays that the result names by digest")
    add("--allow-unregistered-dialect", action="store_true", help="accept ops of unknown dialects in generic form")
    add("--split-input-file", action="store_true", help="treat the parts between '// -----' lines as separate modules")


def _add_passes(parser: CommandLine) -> None:
    add = parser.add_argument_group("passes").add_argument
    add("-p", "--passes", metavar="PIPELINE", help="run these passes: 'a,b{x=1 flag}'")
    add("--pass-pipeline", metavar="PIPELINE", help="the same, in MLIR's form: 'builtin.module(a,b{x=1 flag})'")
    add("--load-pass-plugin", action="append", default=[], metavar="FILE.py", help="add the passes of a Python file")
    add("--dump-pass-pipeline", action="store_true", help="print the pipeline with all options to stderr")
    listings = [
        ("passes", "list-passes", "the passes with their options"),
        ("dialects", "show-dialects", "the dialects"),
    ]
    for what, option, help in listings:
        add(f"--{option}", action="store_const", dest="listing", const=what, help=f"list {help}, and exit")
    for name in (*PASSES, *NAMED_PIPELINES):
        add(f"--{name}", action=_PassAction, nargs="?", dest="pass_options", default=[], help=argparse.SUPPRESS)


def _add_checking(parser: CommandLine) -> None:
    add = parser.add_argument_group("checking").add_argument
    add("--verify-each", action="store_true", default=True, help="verify the module after each pass (the default)")
    add("--no-verify-each", action="store_false", dest="verify_each", help="do not verify it")
    add("--verify-diagnostics", action="store_true", help="compare errors with the '// expected-error' comments")
    _add_mlir(add, "crash-reproducer", "pass-pipeline-crash-reproducer", type=Path, metavar="FILE",
              help="if a pass fails, write a test that shows it to FILE")  # fmt: skip


def _add_printing(parser: CommandLine) -> None:
    add = parser.add_argument_group("printing").add_argument
    _add_mlir(add, "print-op-generic", action="store_true", help="print ops in generic form")
    _add_mlir(add, "print-debuginfo", action="store_true", help="print locations")
    _add_mlir(add, "elide-larger-than", "elide-elementsattrs-if-larger", type=_count, metavar="N",
              help="print constants of more than N elements without their elements")  # fmt: skip
    for when in ("before", "after"):
        _add_mlir(add, f"print-ir-{when}", action="append", default=[], type=_names, metavar="PASS",
                  help=f"print the module {when} PASS; also PASS,PASS")  # fmt: skip
        _add_mlir(add, f"print-ir-{when}-all", action="store_true", help=f"print the module {when} each pass")
    _add_mlir(
        add, "print-ir-after-change", action="store_true", help="print after a pass only if it changed the module"
    )
    _add_mlir(add, "print-ir-after-failure", action="store_true", help="print the module after a pass that failed")
    _add_mlir(add, "print-ir-tree-dir", type=Path, metavar="DIR",
              help="print to files in DIR, with locations, and arrays to DIR/resources.npz")  # fmt: skip
    _add_mlir(add, "timing", action="store_true", help="report the time of each pass")
    _add_mlir(add, "pass-statistics", action="store_true", help="report what the passes counted")


def _add_mlir(add: Callable[..., object], name: str, mlir_name: str = "", **keywords: object) -> None:
    """Adds ``--name``, and MLIR's spelling of it as an alias."""
    add(f"--{name}", f"--mlir-{mlir_name or name}", dest=name.replace("-", "_"), **keywords)


class _PassAction(argparse.Action):
    """Collects `--some-pass` and `--some-pass="options"` in order."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, option: str | None = None
    ) -> None:
        assert option is not None
        element = option.removeprefix("--") + (f"{{{values}}}" if values is not None else "")
        setattr(namespace, self.dest, [*getattr(namespace, self.dest), element])


def _pipeline(given: argparse.Namespace) -> tuple[str, str]:
    """The pipeline and the option that it comes from; a TileError if several options give one."""
    texts = {
        "--pass-pipeline": given.pass_pipeline,
        "--passes": given.passes,
        "command line": ",".join(given.pass_options) or None,
    }
    found = [(text, source) for source, text in texts.items() if text is not None]
    if len(found) > 1:
        raise TileError("tile-opt", "the passes are given in several ways", "keep one of --pass-pipeline, -p, --PASS")
    return found[0] if found else ("", "--passes")


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"expected a number of elements, not '{text}'")
    return int(text[:20])


def _names(text: str) -> list[str]:
    return text.split(",")
