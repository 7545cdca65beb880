"""What `tile-run` prints: for people, or as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..support.diagnostics import printable
from .run_arguments import RunOptions
from .run_check import OutputError

Array = npt.NDArray[Any]
_ELEMENTS_SHOWN = 10
_PREDICTIONS_A_LINE = 25


@dataclass
class RunReport:
    """The results of one run."""

    outputs: Mapping[str, Array]
    batch: bool
    errors: list[OutputError] = field(default_factory=list[OutputError])
    passed: bool | None = None
    predictions: list[int] = field(default_factory=list[int])
    reference_predictions: list[int] = field(default_factory=list[int])
    labels: list[int] = field(default_factory=list[int])


def print_report(report: RunReport, options: RunOptions) -> None:
    """Prints to stdout."""
    if options.json:
        print(json.dumps(_as_json(report, options), indent=1))
        return
    if not options.quiet and not report.predictions:
        _print_outputs(report)
    if report.predictions:
        _print_predictions(report)
    if report.passed is not None:
        _print_check(report, options)


def _print_outputs(report: RunReport) -> None:
    for name, array in report.outputs.items():
        line = f"{printable(name)}: {array.dtype}{list(array.shape)}"
        if array.size:
            line += f", from {array.min():.6g} to {array.max():.6g}"
        print(line)
        if 0 < array.size <= _ELEMENTS_SHOWN:
            print("  " + " ".join(f"{value:.6g}" for value in array.reshape(-1)))


def _print_predictions(report: RunReport) -> None:
    for start in range(0, len(report.predictions), _PREDICTIONS_A_LINE):
        print(" ".join(map(str, report.predictions[start : start + _PREDICTIONS_A_LINE])))
    if report.labels:
        right = _agreeing(report.predictions, report.labels)
        print(f"{right} of {len(report.labels)} right ({100 * right / len(report.labels):.1f} %)")
    if report.labels and report.reference_predictions:
        right = _agreeing(report.reference_predictions, report.labels)
        print(f"onnxruntime: {right} of {len(report.labels)} right")
    if report.reference_predictions:
        same = _agreeing(report.predictions, report.reference_predictions)
        print(f"{same} of {len(report.predictions)} predictions as onnxruntime's")


def _print_check(report: RunReport, options: RunOptions) -> None:
    for error in report.errors:
        verdict = "ok" if error.relative <= options.tolerance else "TOO LARGE"
        print(
            f"check {printable(error.name)}: max abs error {error.max_abs_error:.3g}, "
            f"relative to the range {error.relative:.3g} "
            f"(allowed {options.tolerance:.3g}): {verdict}"
        )


def _as_json(report: RunReport, options: RunOptions) -> dict[str, Any]:
    content: dict[str, Any] = {"outputs": {name: _summary(array) for name, array in report.outputs.items()}}
    if report.predictions:
        content["predictions"] = report.predictions
    if report.labels:
        content["right"] = _agreeing(report.predictions, report.labels)
        content["labels"] = len(report.labels)
    if report.passed is not None:
        content["check"] = {
            "passed": report.passed,
            "tolerance": options.tolerance,
            "outputs": {error.name: _finite(error.relative) for error in report.errors},
            "max_abs_errors": {error.name: _finite(error.max_abs_error) for error in report.errors},
        }
        content["reference_predictions"] = report.reference_predictions
    return content


def _summary(array: Array) -> dict[str, Any]:
    summary: dict[str, Any] = {"shape": list(array.shape), "dtype": str(array.dtype)}
    if array.size:
        summary |= {"min": _finite(float(array.min())), "max": _finite(float(array.max()))}
    return summary


def _finite(value: float) -> float | str:
    """JSON has no infinity and no NaN."""
    return value if math.isfinite(value) else str(value)


def _agreeing(first: list[int], second: list[int]) -> int:
    return int(np.sum(np.array(first) == np.array(second)))
