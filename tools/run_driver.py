"""One run of `tile-run`, from options to results."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..codegen.package import Package, package_digest, read_package
from ..simulators.functional import FunctionalSimulator
from ..support.diagnostics import TileError
from ..support.files import atomic_file, require_apart, require_file
from .report_numerics import check_report
from .run_arguments import RunOptions
from .run_check import Reference, output_errors
from .run_report import RunReport, print_report
from .run_samples import grouped, layouts_of_one, ungrouped
from .run_tensors import (
    array_files,
    output_files,
    random_inputs,
    read_array,
    read_inputs,
    require_fitting_path,
    write_output_files,
    write_outputs,
)
from .session import standard_output

Array = npt.NDArray[Any]


class RunDriver:
    """Loads, executes, checks, writes and reports."""

    def __init__(self, options: RunOptions) -> None:
        self.options = options

    def run(self) -> int:
        """The exit code: 1 if the check fails. Whatever can be wrong before executing is found before executing."""
        options = self.options
        package = read_package(options.package)
        if options.verbose:
            self._say(f"package {package_digest(options.package)}, {len(package.program.columns)} instructions")
        inputs = self._inputs(package)
        labels = None if options.labels is None else self._labels(options.labels, self._sample_count(package, inputs))
        reference = None if options.model is None else Reference(package, options.package, options.model)
        if options.output is not None:
            require_fitting_path(options.output, len(package.outputs))
        if options.check_report is not None:
            require_file(options.check_report)
        self._require_apart(package)
        if reference is not None:
            inputs = reference.typed(inputs)
        outputs = self._execute(package, inputs)
        report = RunReport(outputs, options.batch, labels=labels or [])
        if reference is not None:
            self._check(report, reference.outputs(inputs, options.batch), self._sample_count(package, inputs))
        if options.argmax or labels is not None:
            report.predictions = _predictions(next(iter(outputs.values())), self._sample_count(package, inputs))
        self._write(outputs)
        with standard_output():
            print_report(report, options)
        return 0 if report.passed is not False else 1

    def _require_apart(self, package: Package) -> None:
        """A TileError if a result would replace what the run reads."""
        options = self.options
        outputs = {"-o": options.output, "--check-report": options.check_report}
        if options.output_dir is not None:
            files = output_files([layout.name for layout in package.outputs], options.output_dir)
            outputs |= {f"--output-dir, for '{name}',": path for name, path in files.items()}
        read = array_files(options.inputs, package.inputs, options.labels) | {"the package": options.package}
        if options.model is not None:
            read["the model"] = options.model
        require_apart(outputs, read)

    def _inputs(self, package: Package) -> dict[str, Array]:
        options = self.options
        layouts = layouts_of_one(package.inputs, package.samples) if options.batch else package.inputs
        if options.random is not None:
            return random_inputs(options.random, layouts, (options.limit or 1) if options.batch else None)
        found = read_inputs(options.inputs, layouts, options.batch, package.samples)
        if options.scale is not None:
            with np.errstate(over="ignore"):  # what is too large is infinite
                factor = np.float32(options.scale)
                found = {name: array.astype(np.float32) * factor for name, array in found.items()}
        return {name: array[: options.limit] for name, array in found.items()} if options.batch else found

    def _execute(self, package: Package, inputs: Mapping[str, Array]) -> dict[str, Array]:
        simulator = FunctionalSimulator(package, poison=self.options.poison)
        shows = sys.stderr.isatty() and not self.options.quiet
        start = time.perf_counter()
        progress = _show_progress if shows else None
        if self.options.batch and package.samples > 1:
            groups = simulator.run(grouped(inputs, package.samples), progress)
            outputs = ungrouped(groups, self._sample_count(package, inputs))
        else:
            outputs = simulator.run(inputs, progress)
        if shows:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        if self.options.verbose:
            self._say(f"executed in {time.perf_counter() - start:.2f} s")
        return outputs

    def _check(self, report: RunReport, reference: Mapping[str, Array], samples: int) -> None:
        report.errors = output_errors(report.outputs, reference)
        report.passed = all(error.relative <= self.options.tolerance for error in report.errors)
        report.reference_predictions = _predictions(next(iter(reference.values())), samples)
        if self.options.check_report is not None:
            self._record_check(self.options.check_report, report)

    def _record_check(self, path: Path, report: RunReport) -> None:
        """Writes the verdict for `tile-report`."""
        options = self.options
        given = "given inputs" if options.random is None else f"random inputs {options.random}"
        errors = {error.name: error.relative for error in report.errors}
        digest = package_digest(options.package)
        with atomic_file(path) as temporary:
            text = check_report(digest, "onnxruntime", given, options.tolerance, report.passed is True, errors)
            temporary.write_text(text, encoding="utf-8")

    def _write(self, outputs: Mapping[str, Array]) -> None:
        if self.options.output is not None:
            write_outputs(outputs, self.options.output)
        if self.options.output_dir is not None:
            write_output_files(outputs, self.options.output_dir)

    def _sample_count(self, package: Package, inputs: Mapping[str, Array]) -> int:
        return len(next(iter(inputs.values()))) if self.options.batch and inputs else package.samples

    def _labels(self, argument: str, count: int) -> list[int]:
        where, labels = f"--labels {argument}", read_array(argument)
        if labels.size != (*labels.shape, 1)[0]:
            raise TileError(where, f"has shape {list(labels.shape)}", "give one label for each sample")
        labels = labels.reshape(-1)
        if len(labels) < count:
            raise TileError(where, f"has {len(labels)} labels for {count} samples", "give one for each")
        wrong = [label for label in labels[:count].tolist() if label != label // 1]
        if wrong:
            raise TileError(where, f"label {wrong[0]} is no whole number", "give the number of a class for each sample")
        return [int(label) for label in labels[:count]]

    def _say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


def _predictions(output: Array, samples: int) -> list[int]:
    return [int(index) for index in np.argmax(output.reshape(samples, -1), axis=1)]


def _show_progress(done: int, total: int) -> None:
    print(f"\r{100 * done // max(total, 1):3d} %", end="", file=sys.stderr, flush=True)
