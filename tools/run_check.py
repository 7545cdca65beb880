"""Comparing a package's outputs with onnxruntime's for the model that it was compiled from."""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..codegen.package import Package
from ..support.diagnostics import TileError

Array = npt.NDArray[Any]
Tensors = Mapping[str, Array]


@dataclass(frozen=True)
class OutputError:
    """How far one output is from the reference."""

    name: str
    max_abs_error: float
    reference_range: float

    @property
    def relative(self) -> float:
        """The greatest error relative to the range of the reference; absolute if the reference is constant."""
        return self.max_abs_error / self.reference_range if self.reference_range > 0 else self.max_abs_error


def reference_outputs(package: Package, model: Path, inputs: Tensors, batch: bool) -> dict[str, Array]:
    """onnxruntime's outputs for the same inputs, sample by sample; the model must be the package's."""
    runtime = _onnxruntime()
    _require_same_model(model, package)
    session = _session(runtime, model)
    names = [layout.name for layout in package.outputs]
    types = {layout.name: layout.dtype for layout in package.inputs}
    typed = {name: array.astype(types[name]) for name, array in inputs.items()}
    samples = len(next(iter(typed.values()))) if batch and typed else None
    if samples is None:
        return dict(zip(names, _run(session, names, typed, model), strict=True))
    rows = [_run(session, names, {name: array[at] for name, array in typed.items()}, model) for at in range(samples)]
    return {name: np.stack([row[number] for row in rows]) for number, name in enumerate(names)}


def output_errors(outputs: Tensors, reference: Tensors) -> list[OutputError]:
    """The error of every output. NaN anywhere where the reference has none counts as infinite."""
    errors: list[OutputError] = []
    for name, expected in reference.items():
        wide = expected.astype(np.float64)
        difference = np.abs(outputs[name].astype(np.float64).reshape(wide.shape) - wide)
        difference[np.isnan(difference) & ~np.isnan(wide)] = np.inf
        worst = float(np.nan_to_num(difference, nan=0.0, posinf=np.inf).max(initial=0.0))
        errors.append(OutputError(name, worst, float(np.ptp(wide)) if wide.size else 0.0))
    return errors


def _onnxruntime() -> Any:
    try:
        runtime = importlib.import_module("onnxruntime")
    except ImportError:
        raise TileError("--check", "needs onnxruntime, which is not installed", "pip install onnxruntime") from None
    runtime.set_default_logger_severity(3)
    return runtime


def _require_same_model(model: Path, package: Package) -> None:
    data = model.read_bytes()
    if not package.model.sha256:
        print("warning: the package does not say which model it is compiled from", file=sys.stderr)
    elif hashlib.sha256(data).hexdigest() != package.model.sha256:
        what = f"is not the model that the package was compiled from ({package.model.name})"
        raise TileError(str(model), what, "name that model, or compile this one")


def _session(runtime: Any, model: Path) -> Any:
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    try:
        return runtime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's exceptions have no common class
        raise TileError(str(model), f"onnxruntime cannot load it: {str(error).splitlines()[0]}") from None


def _run(session: Any, names: list[str], inputs: Tensors, model: Path) -> list[Array]:
    try:
        return session.run(names, dict(inputs))
    except Exception as error:  # onnxruntime's exceptions have no common class
        raise TileError(str(model), f"onnxruntime cannot run it: {str(error).splitlines()[0]}") from None
