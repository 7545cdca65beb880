"""The node tests of the ONNX standard, for every operator that the importer supports.

Shapes, axes and bounds that these tests pass as inputs are made constants, as they are in networks.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from functools import cache
from typing import Any

import onnx
import pytest
from numpy.typing import NDArray
from onnx import numpy_helper
from onnx_reference import assert_same, simplify
from tilec.lowering.onnx_importer import import_onnx
from tilec.lowering.onnx_operators import RULES
from tilec.simulators.onnx_interpreter import interpret
from tilec.simulators.onnx_kernels import KERNELS
from tilec.support.diagnostics import TileError
from xdsl.dialects.builtin import ModuleOp

REFUSED = (
    "not a tensor",
    "is used, only the first is supported",
    "is not supported",
    "unsupported type",
    "has elements of type",
    "give a positive size",
    "it has to be a constant",
    "opsets 7 to",
)
"""What the importer may refuse, and nothing else."""


@cache
def cases() -> dict[str, list[Any]]:
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: dict[str, list[Any]] = defaultdict(list)
        for case in collect_testcases():
            # A function written out is a test of other operators.
            if case.model is not None and "_expanded" not in case.name:
                found[case.model.graph.node[0].op_type].append(case)
    return found


def with_constants(model: onnx.ModelProto, inputs: list[NDArray[Any]]) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """The model with inputs for shapes and the like turned into initializers, and its other inputs."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    (node,) = result.graph.node
    # A test says the opset that introduced the operator's version.
    (opset,) = result.opset_import
    if opset.version < 7 and onnx.defs.get_schema(node.op_type, 7, "").since_version == opset.version:
        opset.version = 7
    given = dict(zip([value.name for value in model.graph.input], inputs, strict=False))
    operands = RULES[node.op_type].operands
    attributes = () if operands is None else node.input[operands:]
    del result.graph.input[:]
    result.graph.input.extend(value for value in model.graph.input if value.name not in attributes)
    result.graph.initializer.extend(numpy_helper.from_array(given[name], name) for name in attributes if name)
    return result, {name: array for name, array in given.items() if name not in attributes}


def as_array(value: Any) -> Any:
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def imported(model: onnx.ModelProto) -> tuple[ModuleOp | None, str]:
    try:
        return import_onnx(model.SerializeToString()), ""
    except TileError as error:
        return None, str(error)


@pytest.mark.parametrize("operator", sorted(RULES))
def test_operator(operator: str) -> None:
    passed = 0
    for case in cases().get(operator, []):
        given, expected = ([as_array(value) for value in values] for values in case.data_sets[0])
        model, inputs = with_constants(case.model, given)
        outputs = dict(zip([value.name for value in model.graph.output], expected, strict=True))
        module, refusal = imported(model)
        if module is None:
            assert any(reason in refusal for reason in REFUSED), f"{case.name}: {refusal}"
            continue
        module.verify()
        assert_same(interpret(module, inputs), outputs, 1e-3)
        assert_same(interpret(simplify(module), inputs), outputs, 1e-3)
        passed += 1
    assert passed, f"no test of {operator} passed"


def test_every_rule_has_a_kernel() -> None:
    from tilec.dialects.onnx import Onnx

    assert set(KERNELS) == set(Onnx.operations)
    assert {rule.op for rule in RULES.values()} == set(Onnx.operations)
