"""Small ONNX models for tests of the importer, and what importing them gives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tilec.lowering.onnx_importer import import_onnx
from tilec.support.diagnostics import TileError
from xdsl.dialects.builtin import ModuleOp

NEWEST = onnx.defs.onnx_opset_version()
RELU = helper.make_node("Relu", ["x"], ["y"], name="act")


def tensor(name: str, shape: Sequence[int | str | None] | None, kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def model_of(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto] = (tensor("x", [1, 3, 8, 8]),),
    outputs: Sequence[str] = ("y",),
    constants: dict[str, NDArray[Any]] | None = None,
    opset: int = 17,
) -> onnx.ModelProto:
    initializers = [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()]
    graph = helper.make_graph(nodes, "g", inputs, [tensor(name, None) for name in outputs], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def imported(model: onnx.ModelProto, **dims: int) -> ModuleOp:
    module = import_onnx(model.SerializeToString(), dims)
    module.verify()
    return module


def refused(model: onnx.ModelProto | bytes | Path, **dims: int) -> str:
    """The whole text of the error that importing ``model`` gives."""
    source = model.SerializeToString() if isinstance(model, onnx.ModelProto) else model
    with pytest.raises(TileError) as error:
        import_onnx(source, dims)
    return str(error.value)
