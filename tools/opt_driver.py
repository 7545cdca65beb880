"""What `tile-opt` does with its options: read, parse, run the passes, print."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import cached_property
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..dialects.registry import make_context
from ..passes.ir_text import PrintOptions, elision, ir_text
from ..passes.ir_tree import RESOURCES_NAME, IRTree
from ..passes.manager import PassManager
from ..passes.registry import all_passes
from ..passes.statistics import PassStatistics
from ..passes.timing import Timer
from ..passes.verifier import verify_input
from ..support.diagnostics import TileError
from ..support.files import atomic_file, require_apart, require_file, require_folder, require_no_file, uninterrupted
from ..support.source import suggestion
from .expected_diagnostics import ExpectedDiagnostics
from .guard_report import guard_report, make_guard
from .opt_arguments import OptOptions
from .opt_input import SPLIT_MARKER, Chunk, OnnxInput, parse_chunk, read_input
from .opt_plugins import load_pass_plugins
from .opt_watch import instrumentations
from .session import report_failure, standard_output


class OptDriver:
    """One run of `tile-opt`."""

    def __init__(self, options: OptOptions) -> None:
        self.options = options
        self.timer = Timer()
        self.available = all_passes() | load_pass_plugins(options.plugins)
        self.passes = self._build_pipeline()
        self.statistics = PassStatistics()
        self.print_options = PrintOptions(options.print_op_generic, options.print_debuginfo, options.elide_larger_than)
        tree = options.print_ir_tree_dir
        self.tree = None if tree is None else IRTree(tree, options.elide_larger_than)
        self.exit_code = 0
        self._unfinished = ExitStack()
        """Files that are not in their places yet: all of them get there, or none."""

    def run(self) -> int:
        """Does everything; gives the exit code. A TileError if nothing could be done."""
        self._check_options()
        if self.options.dump_pass_pipeline:
            from ..passes.pipeline import pipeline_text

            sys.stderr.write(pipeline_text(self.passes) + "\n")
        self._load_resources()
        try:
            with nullcontext() if self.tree is None else self.tree.open(), self._unfinished:
                self._process_input()
                # Special files are waited for, if they are written alone.
                with nullcontext() if self.options.emit_resources is None else uninterrupted():
                    self._unfinished.close()
        finally:
            if self.options.pass_statistics:
                sys.stderr.write(self.statistics.report())
            if self.options.timing:
                sys.stderr.write(self.timer.report())
        return self.exit_code

    @cached_property
    def context(self) -> Context:
        return make_context(self.options.allow_unregistered_dialect)

    def _build_pipeline(self) -> tuple[ModulePass, ...]:
        if not self.options.pipeline:
            return ()
        # The grammar is not loaded for nothing: FileCheck suites start this tool hundreds of times.
        from ..passes.pipeline import build_pipeline, parse_pipeline

        with self.timer.phase("Pipeline"):
            spec = parse_pipeline(self.options.pipeline, self.options.pipeline_source)
            return build_pipeline(spec, self.available)

    def _check_options(self) -> None:
        for option, names in (("before", self.options.print_ir_before), ("after", self.options.print_ir_after)):
            for name in names:
                if name not in self.available:
                    near = suggestion(name, self.available) or "--list-passes names them all"
                    raise TileError(f"--print-ir-{option}", f"unknown pass '{name}'", near)
        self._check_places()
        if self.options.split_input_file and self.options.emit_resources is not None:
            raise TileError("--emit-resources", "one file cannot serve several modules", "drop --split-input-file")

    def _check_places(self) -> None:
        """A TileError if something cannot be written where it is to go. The result may take the place of its text."""
        options = self.options
        outputs = {
            "-o": None if str(options.output) == "-" else options.output,
            "--emit-resources": options.emit_resources,
            "--guard-report": options.guard_report,
            "--crash-reproducer": options.crash_reproducer,
        }
        for path in outputs.values():
            if path is not None:
                require_file(path)
        read = {"the input": Path(options.input)}
        read |= {f"the resources {path}": path for path in options.resources}
        read |= {f"the plugin {path}": Path(path) for path in options.plugins}
        if options.print_ir_tree_dir is not None:
            require_folder(options.print_ir_tree_dir)
            require_no_file("--print-ir-tree-dir", options.print_ir_tree_dir, outputs)
            outputs["--print-ir-tree-dir"] = options.print_ir_tree_dir / RESOURCES_NAME
        in_place = outputs["-o"] == read["the input"] and options.input.endswith(".mlir")
        require_apart({option: path for option, path in outputs.items() if option != "-o" or not in_place}, read)

    def _load_resources(self) -> None:
        if self.options.resources:
            from ..dialects.tile import load_resources

            for path in self.options.resources:
                load_resources(path)

    def _process_input(self) -> None:
        source = read_input(self.options.input, self.options.split_input_file)
        if isinstance(source, OnnxInput):
            for name in ("split_input_file", "verify_diagnostics"):
                if getattr(self.options, name):
                    raise TileError(f"--{name.replace('_', '-')}", f"'{source.name}' is no text", "remove the option")
            texts = [self._process(self._import(source))]
        else:
            if self.options.dims:
                raise TileError("--dim", f"'{source[0].name}' is not an ONNX model", "remove the option")
            results = [self._process_chunk(chunk) for chunk in source]
            texts = [text for text in results if text is not None]
        self._write(f"{SPLIT_MARKER}\n".join(texts))

    def _process_chunk(self, chunk: Chunk) -> str | None:
        """The result of one chunk, or None if it has an error, which is then reported."""
        result = None
        with self._reported():
            if not self.options.verify_diagnostics:
                return self._process(self._parse(chunk))
            expected = ExpectedDiagnostics.read(chunk.name, chunk.text)
            try:
                result = self._process(self._parse(chunk))
            except TileError as error:
                expected.match(error)
            expected.finish()
        return result

    @contextmanager
    def _reported(self) -> Generator[None]:
        """An error of one chunk is reported, and the others go on; only the exit code remembers it."""
        try:
            yield
        except Exception as error:
            self.exit_code = max(self.exit_code, report_failure("tile-opt", error, self.options.verbose))

    def _parse(self, chunk: Chunk) -> ModuleOp:
        with self.timer.phase("Parser"):
            return parse_chunk(chunk, self.context)

    def _import(self, source: OnnxInput) -> ModuleOp:
        from ..lowering.onnx_importer import import_onnx

        with self.timer.phase("Importer"):
            return import_onnx(source.source, dict(self.options.dims))

    def _process(self, module: ModuleOp) -> str:
        """Runs the passes on ``module`` and prints it."""
        if not self.options.verify_each:
            verify_input(module)
        guard = make_guard(self.options.guard, self.options.guard_report) if self.passes else None
        watch = instrumentations(self.options, self.print_options, self.timer, self.statistics, guard, self.tree)
        with guard_report(guard, self.options.guard_report):
            PassManager(self.passes, watch).run(self.context, module)
        with self.timer.phase("Output"):
            if self.options.emit_resources is not None:
                self._save_resources(module, self.options.emit_resources)
            return ir_text(module, self.print_options)

    def _save_resources(self, module: ModuleOp, path: Path) -> None:
        from ..dialects.tile import save_resources

        temporary = self._unfinished.enter_context(atomic_file(path))
        with elision(self.options.elide_larger_than):
            save_resources(module, temporary)

    def _write(self, text: str) -> None:
        """Writes the result: to a file only if all of it is right, as half a result is none."""
        if self.options.output is None or str(self.options.output) == "-":
            if not self.options.quiet:
                with standard_output():
                    sys.stdout.write(text)
        elif self.exit_code == 0:
            temporary = self._unfinished.enter_context(atomic_file(self.options.output))
            temporary.write_text(text, encoding="utf-8")
