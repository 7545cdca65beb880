"""One run of `tile-compile`, from options to a package."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from functools import cache, partial
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..codegen.build import build_package
from ..codegen.emission import Emission, emission_of
from ..codegen.guarded import guard_package, stage_records
from ..codegen.manifest import Origin
from ..codegen.network_nodes import NetworkNode, network_nodes
from ..codegen.package import Package, PackageWriter, package_writer, require_replaceable
from ..codegen.stream_check import StreamCheck
from ..dialects.registry import make_context
from ..lowering.onnx_file import ModelFile
from ..lowering.plan_check import check_plan
from ..passes.instrumentation import PassInstrumentation
from ..passes.ir_printing import IRPrinter, PrintWhen
from ..passes.ir_text import PrintOptions
from ..passes.ir_tree import RESOURCES_NAME, IRTree
from ..passes.manager import PassManager, Verifier
from ..passes.pass_bug import PassBug
from ..passes.pim_plan_memory import PimPlanMemoryPass
from ..passes.pipeline import build_pipeline, named_pipeline, parse_pipeline, pipeline_text
from ..passes.progress import Progress
from ..passes.registry import all_passes
from ..passes.statistics import PassStatistics
from ..passes.timing import PassTimer, TimedInstrumentation, Timer
from ..passes.verifier import verify_input
from ..support.background import Background
from ..support.diagnostics import TileError
from ..support.files import atomic_file, require_apart, require_file, require_folder, require_no_file, require_outside
from .build_report import build_report
from .compile_arguments import CompileOptions
from .compile_report import CompileReport, print_report
from .guard_report import guard_report, make_guard
from .opt_input import OnnxInput, parse_chunk, read_input
from .progress_line import ProgressLine
from .session import standard_output

_HASHED_BYTES = 1 << 22
"""At once, in a thread, which after each time may wait for some milliseconds until it has Python's lock again."""


class CompileDriver:
    """Reads the model, runs the pipeline, generates code, writes the package, reports."""

    def __init__(self, options: CompileOptions, model: ModelFile | None = None) -> None:
        """``model``: the one of the options, if it is open already."""
        self.options = options
        self._model = model
        self._nodes: tuple[NetworkNode, ...] = ()
        self.context = make_context(False)
        self.timer = Timer()
        self.statistics = PassStatistics()
        self.guard = make_guard(options.guard, options.guard_report)
        if self.guard is not None:
            self.guard.load()
        self.line = ProgressLine(sys.stderr, shown=not (options.quiet or options.verbose))

    def run(self) -> int:
        """The exit code. A TileError leaves no output behind."""
        start = time.perf_counter()
        options = self.options
        self._require_places()
        passes = self._passes()
        with self.line:
            self.line.say("reading the model")
            module, origin = self._read()
            given = not any(isinstance(one, PimPlanMemoryPass) for one in passes)
            with ExitStack() as unfinished:
                with guard_report(self.guard, options.guard_report):
                    self._nodes = network_nodes(module)
                    self._lower(passes, module)
                    self.line.say("generating code")
                    if given:
                        check_plan(module)
                    writer = unfinished.enter_context(package_writer(options.output))
                    package = self._generate(module, origin.result(), pipeline_text(passes), given, writer)
                self.line.say("writing the package")
                digest = self._write(package, writer, unfinished, start)
        if self.options.pass_statistics:
            sys.stderr.write(self.statistics.report())
        if self.options.timing:
            sys.stderr.write(self.timer.report())
        with standard_output():
            print_report(CompileReport.of(package, digest, time.perf_counter() - start), self.options)
        return 0

    def _lower(self, passes: tuple[ModulePass, ...], module: ModuleOp) -> None:
        """Runs the pipeline. If the guard rejects a pass, and the model could not be compiled without the guard either,
        what raises is the reason for that: it is what the user can do something about."""
        folder = self.options.print_ir_tree_dir
        tree = None if folder is None else IRTree(folder)
        try:
            with nullcontext() if tree is None else tree.open():
                PassManager(passes, self._instrumentations(tree)).run(self.context, module)
        except TileError as error:
            from ..passes.guard import GuardError

            if not isinstance(error, GuardError) or error.index is None:
                raise
            self.line.say("looking for errors in what the guard has rejected")
            reason = _refusal(passes[error.index + 1 :], self.context, module)
            if reason is None:
                raise
            raise reason from error

    def _require_places(self) -> None:
        """A TileError if a result cannot be written where it is to go, before anything is computed for it."""
        options = self.options
        require_replaceable(options.output)
        reports = {"--build-report": options.build_report, "--guard-report": options.guard_report}
        require_outside(reports, options.output)
        for path in reports.values():
            if path is not None:
                require_file(path)
        read = {"the model": Path(options.model), "the machine file": Path(options.machine)}
        read |= {f"the resources {path}": path for path in options.resources}
        tree = options.print_ir_tree_dir
        if tree is not None:
            require_folder(tree)
            require_outside({"--print-ir-tree-dir": tree}, options.output)
            require_no_file("--print-ir-tree-dir", tree, reports)
            reports["--print-ir-tree-dir"] = tree / RESOURCES_NAME
        require_apart(reports, read)

    def _write(self, package: Package, writer: PackageWriter, unfinished: ExitStack, start: float) -> str:
        """Writes what is missing of the package and puts it in its place, and the report of its build: both, or
        neither. The package's digest."""
        path = self.options.build_report
        with nullcontext() if path is None else atomic_file(path) as report:
            with self.timer.phase("Output"):
                digest = writer.finish(package)
            if report is not None:
                stages = {} if self.guard is None else stage_records(self.guard.examined)
                seconds = time.perf_counter() - start
                report.write_text(build_report(package, digest, stages, seconds, self.timer.seconds), encoding="utf-8")
            unfinished.close()
        return digest

    def _generate(self, module: ModuleOp, origin: Origin, pipeline: str, given: bool, writer: PackageWriter) -> Package:
        """The package of the lowered module, checked and behind the guard. ``given``: no pass has planned it."""
        emission: Callable[[], Emission] = cache(partial(emission_of, module))  # for the report, and for the guard
        with self.timer.phase("Code generation"):
            start = time.perf_counter()
            package = build_package(module, origin, self.options.manifest(pipeline), emission, writer, self._nodes)
            seconds = time.perf_counter() - start
        with self.timer.phase("Stream check"):
            check = _check(package, given)
        if self.guard is not None:
            with self.timer.phase("Guard"):
                package = guard_package(self.guard, module, package, seconds, check, emission)
        return package

    def _passes(self) -> tuple[ModulePass, ...]:
        options = self.options
        if options.pipeline is not None:
            return build_pipeline(parse_pipeline(options.pipeline, "--pass-pipeline"), all_passes())
        given = {
            "machine": options.machine,
            "weight-bits": options.weight_bits,
            "activation-bits": options.activation_bits,
            "replicate": options.replicate,
            "samples": options.samples,
        }
        return build_pipeline(named_pipeline("tile-default", given, "tile-compile"), all_passes())

    def _read(self) -> tuple[ModuleOp, Background[Origin]]:
        """The module, and what it was read from."""
        options = self.options
        source = read_input(options.model)
        if isinstance(source, OnnxInput):
            if options.resources:
                raise TileError("--resources", f"'{options.model}' is an ONNX model, with all its arrays", "remove it")
            from ..lowering.onnx_importer import import_onnx

            with self.timer.phase("Importer"):
                module = import_onnx(self._model or source.source, dict(options.dims))
            name, content = source.name, source.source
        else:
            from ..dialects.tile import load_resources

            if options.dims:
                raise TileError("--dim", f"'{options.model}' is not an ONNX model", "remove the option")
            for path in options.resources:
                load_resources(path)
            (chunk,) = source
            with self.timer.phase("Parser"):
                module = parse_chunk(chunk, self.context)
            if not options.verify_each:
                verify_input(module)
            name, content = options.model, chunk.text.encode()
        return module, Background(lambda: Origin(Path(name).name, _hash(content)))

    def _instrumentations(self, tree: IRTree | None) -> list[PassInstrumentation]:
        """Outermost first, as in `tile-opt`."""
        options = self.options
        found: list[PassInstrumentation] = [self.line]
        if options.pass_statistics:
            found.append(self.statistics)
        if tree is not None:
            found.append(IRPrinter(PrintWhen(after_all=True), tree, PrintOptions(debuginfo=True)))
        if self.guard is not None:
            found.append(TimedInstrumentation(self.guard, self.timer, "Guard"))
        if options.verify_each:
            found.append(TimedInstrumentation(Verifier(), self.timer, "Verifier"))
        if options.verbose:
            found.append(Progress(sys.stderr.write))
        if options.timing or options.build_report is not None:
            found.append(PassTimer(self.timer))
        return found


def _refusal(passes: tuple[ModulePass, ...], context: Context, module: ModuleOp) -> TileError | None:
    """The error of the user that the rest of a pipeline ends in, if it does."""
    try:
        PassManager(passes, (Verifier(),)).run(context, module)
    except TileError as error:
        return error
    except PassBug:
        pass  # of the pass that was rejected, most likely
    return None


def _check(package: Package, given: bool) -> StreamCheck:
    """The independent validator's verdict on the finished streams: a fault is an error of the compiler, or a TileError
    if the planned program was ``given``."""
    check = StreamCheck(package.program, package.weights, package.memory.size_bytes, limit=1)
    faults = check.run()
    if faults and given:
        raise TileError(package.model.name, f"its program makes a bad stream: {faults[0]}", "lower the network again")
    assert not faults, f"the compiler made a bad stream: {faults[0]}"
    return check


def _hash(content: bytes | Path) -> str:
    """That of a file's content, or of the file."""
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest()
    state = hashlib.sha256()
    piece = bytearray(_HASHED_BYTES)
    with content.open("rb", buffering=0) as file:
        while count := file.readinto(piece):
            state.update(memoryview(piece)[:count])
    return state.hexdigest()
