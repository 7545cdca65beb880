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
from ..support.diagnostics import TileError, printable
from ..support.files import is_device

Array = npt.NDArray[Any]
Tensors = Mapping[str, Array]

_DTYPES = {"tensor(float)": "float32", "tensor(double)": "float64", "tensor(bool)": "bool"} | {
    f"tensor({name})": name for name in "float16 int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
}
"""numpy's names of onnxruntime's types."""


ROUNDINGS = 16 * float(np.finfo(np.float32).eps)
"""Of the largest value of an output, by how much its values may differ and still count as the same number."""


@dataclass(frozen=True)
class OutputError:
    """How far one output is from the reference."""

    name: str
    max_abs_error: float
    reference_range: float

    @property
    def relative(self) -> float:
        """The greatest error relative to the range of the reference; absolute if the reference is constant but
        for rounding."""
        return self.max_abs_error / self.reference_range if self.reference_range > 0 else self.max_abs_error


class Reference:
    """The model that a package was compiled from, loaded by onnxruntime."""

    def __init__(self, package: Package, path: Path, model: Path) -> None:
        """``path`` is where the package lies."""
        self._model = model
        self._samples = package.samples
        self._names = [layout.name for layout in package.outputs]
        runtime = _onnxruntime()
        _require_same_model(model, package, path)
        self._session = _session(runtime, model)
        self._types = {one.name: _DTYPES.get(one.type, "float32") for one in self._session.get_inputs()}

    def typed(self, inputs: Tensors) -> dict[str, Array]:
        """The inputs in the element types of the model, so that package and model compute from the same numbers."""
        with np.errstate(all="ignore"):
            return {name: array.astype(self._types.get(name, "float32")) for name, array in inputs.items()}

    def outputs(self, inputs: Tensors, batch: bool) -> dict[str, Array]:
        """Its outputs for the inputs; with ``batch``, of one sample after another along the leading axis.

        A package that takes several samples was compiled from a model that takes one.
        """
        typed = self.typed(inputs)
        if self._samples > 1 and not batch:
            runs = [
                self._run({name: array[at : at + 1] for name, array in typed.items()}) for at in range(self._samples)
            ]
            return {name: np.concatenate(parts) for name, *parts in zip(self._names, *runs, strict=True)}
        if not batch or not typed:
            return dict(zip(self._names, self._run(typed), strict=True))
        samples = len(next(iter(typed.values())))
        rows = [self._run({name: array[at] for name, array in typed.items()}) for at in range(samples)]
        return {name: np.stack([row[number] for row in rows]) for number, name in enumerate(self._names)}

    def _run(self, inputs: Tensors) -> list[Array]:
        try:
            return self._session.run(self._names, dict(inputs))
        except Exception as error:  # onnxruntime's exceptions have no common class
            what = f"onnxruntime cannot run it: {str(error).splitlines()[0]}"
            raise TileError(str(self._model), what, "export it again") from None


def output_errors(outputs: Tensors, reference: Tensors) -> list[OutputError]:
    """The error of every output. NaN where the reference has a number, or the reverse, counts as infinite.

    A reference of which all differences are of rounding has no range: what it is off by says nothing of another one.
    """
    with np.errstate(all="ignore"):  # infinities have no difference
        return [_output_error(name, outputs[name], expected) for name, expected in reference.items()]


def _output_error(name: str, output: Array, expected: Array) -> OutputError:
    wide = expected.astype(np.float64)
    found = output.astype(np.float64).reshape(wide.shape)
    difference = np.where(found == wide, 0.0, np.abs(found - wide))
    difference[np.isnan(found) != np.isnan(wide)] = np.inf
    worst = float(np.nan_to_num(difference, nan=0.0, posinf=np.inf).max(initial=0.0))
    spread = float(np.ptp(wide)) if wide.size else 0.0
    largest = float(np.nanmax(np.abs(wide), initial=0.0))
    return OutputError(name, worst, 0.0 if spread <= ROUNDINGS * largest else spread)


def _onnxruntime() -> Any:
    try:
        runtime = importlib.import_module("onnxruntime")
    except ImportError:
        raise TileError("--check", "needs onnxruntime, which is not installed", "pip install onnxruntime") from None
    runtime.set_default_logger_severity(4)  # what it says of errors is in its exceptions
    return runtime


def _require_same_model(model: Path, package: Package, path: Path) -> None:
    if is_device(model):
        raise TileError(str(model), "is a device", "give the .onnx file that the package was compiled from")
    data = model.read_bytes()
    if not package.model.sha256:
        print(f"warning: package {printable(str(path))} does not say which model it is compiled from", file=sys.stderr)
    elif hashlib.sha256(data).hexdigest() != package.model.sha256:
        what = f"is not the model that the package was compiled from ({package.model.name})"
        raise TileError(str(model), what, "name that model, or compile this one")


def _session(runtime: Any, model: Path) -> Any:
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    try:
        return runtime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's exceptions have no common class
        raise TileError(
            str(model), f"onnxruntime cannot load it: {str(error).splitlines()[0]}", "export it again"
        ) from None
