"""Numerical validation of a build: what a check found, from a file or by executing both packages now."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..support.diagnostics import TileError
from .report_records import Records, report_bytes

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
        content: Any = json.loads(report_bytes(path, _REMEDY))
        if content["format"] != CHECK_FORMAT:
            raise ValueError(f"format {str(content['format'])[:40]!r}")
        found = Numerics(
            content["passed"] is True,
            max((float(error) for error in content["outputs"].values()), default=0.0),
            float(content["tolerance"]),
            f"{content['reference']}, {content['inputs']}",
        )
        about = str(content["package"])
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise TileError(str(path), f"holds no verdict of a check: {error}", _REMEDY) from error
    if digest is not None and about != digest:
        raise TileError(str(path), "is about another package", "check this one")
    return found


def compare_now(
    before: Records, after: Records, seed: int, tolerance: float, model: Path | None
) -> tuple[Numerics, Numerics]:
    """Executes both packages on the same random inputs.

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
    references = [] if model is None else [Reference(side, model) for side in (old, new)]
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
