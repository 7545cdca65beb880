"""Numerical validation of a build: what a check found, from a file or by executing both packages now."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..support.diagnostics import TileError
from ..support.json_values import Kind, entry, require
from .report_records import Records, report_json

CHECK_FORMAT = "tile-check-report 1"
_REMEDY = "give what tile-run --check --check-report wrote"


@dataclass(frozen=True)
class Numerics:
    """How right the outputs of a package are."""

    passed: bool
    error: float
    """The greatest of any output, relative to its range."""
    tolerance: float
    against: str
    """What the outputs were compared with."""

    def __str__(self) -> str:
        return f"{self.error:.3g} ({'ok' if self.passed else 'TOO LARGE'})"


def read_numerics(path: Path, digest: str | None) -> Numerics:
    """What `tile-run --check --check-report` wrote about the package with this digest."""
    try:
        content = require(report_json(path, _REMEDY), Kind.TABLE, "the whole")
        if content.get("format") != CHECK_FORMAT:
            raise ValueError(f"format {str(content.get('format'))[:40]!r}")
        outputs = entry(content, "outputs", Kind.TABLE)
        found = Numerics(
            entry(content, "passed", Kind.FLAG),
            max((_read_error(name, error) for name, error in outputs.items()), default=0.0),
            entry(content, "tolerance", Kind.NUMBER),
            f"{entry(content, 'reference', Kind.TEXT)}, {entry(content, 'inputs', Kind.TEXT)}",
        )
        about = entry(content, "package", Kind.TEXT)
    except ValueError as error:
        raise TileError(str(path), f"holds no verdict of a check: {error}", _REMEDY) from error
    if digest is not None and about != digest:
        raise TileError(str(path), "is about another package", "check this one")
    return found


def _read_error(output: str, error: Any) -> float:
    """JSON has no infinity and no NaN: these are texts."""
    return float(error if error in ("inf", "nan") else require(error, Kind.NUMBER, f"the error of output '{output}'"))


def compare_now(
    before: Records, after: Records, paths: Sequence[Path], seed: int, tolerance: float, model: Path | None
) -> tuple[Numerics, Numerics]:
    """Executes both packages, which lie at these paths, on the same random inputs.

    With a model each is compared with onnxruntime, else the later with the earlier.
    """
    from ..simulators.functional import FunctionalSimulator
    from .run_check import Reference, output_errors
    from .run_tensors import random_inputs

    old, new = before.package, after.package
    if old is None or new is None:
        raise TileError("--check", "needs packages to execute, and a report is given", "give the packages")
    given = [[(one.name, one.shape, one.dtype) for one in (*side.inputs, *side.outputs)] for side in (old, new)]
    if given[0] != given[1]:
        raise TileError("--check", "the packages have other inputs or outputs", "compare two builds of one model")
    inputs = random_inputs(seed, old.inputs, None)
    references = [] if model is None else [Reference(*one, model) for one in zip((old, new), paths, strict=True)]
    for reference in references:
        inputs = reference.typed(inputs)
    runs = [FunctionalSimulator(side).run(inputs) for side in (old, new)]
    expected = [reference.outputs(inputs, False) for reference in references] or [runs[0], runs[0]]
    against = f"{'onnxruntime' if references else 'the package before'}, random inputs {seed}"
    found: list[Numerics] = []
    for outputs, right in zip(runs, expected, strict=True):
        error = max((one.relative for one in output_errors(outputs, right)), default=0.0)
        found.append(Numerics(error <= tolerance, error, tolerance, against))
    return found[0], found[1]


def check_report(
    digest: str, reference: str, inputs: str, tolerance: float, passed: bool, errors: Mapping[str, float]
) -> str:
    """The text of a file that :func:`read_numerics` reads; ``errors`` are relative, by output."""
    outputs = {name: error if math.isfinite(error) else str(error) for name, error in errors.items()}
    content = {
        "format": CHECK_FORMAT,
        "package": digest,
        "reference": reference,
        "inputs": inputs,
        "tolerance": tolerance,
        "passed": passed,
        "outputs": outputs,
    }
    return json.dumps(content, indent=1) + "\n"
