"""Whole networks: imported and simplified, they compute what onnxruntime computes, in the promised normal form."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from models import ARCHITECTURES, SMALLEST, build
from onnx_reference import check_model, op_counts, random_inputs, run_onnxruntime
from tilec.dialects import onnx as ops
from tilec.dialects.onnx_base import shape_of
from xdsl.dialects.builtin import ModuleOp

LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"
# Hundreds of megabytes of weights, or of layers that another model has too.
SLOW = {"light_vgg19", "light_bvlc_alexnet", "light_zfnet512", "light_densenet121", "light_inception_v2"}


def assert_normal_form(module: ModuleOp) -> None:
    """Short and dumb: what `onnx-simplify` promises."""
    for op in module.walk():
        if not isinstance(op, ops.OnnxOp):
            continue
        match op:
            case ops.ConvOp() | ops.MaxPoolOp() | ops.AveragePoolOp():
                assert {"kernel_shape", "pads", "strides", "dilations"} <= op.properties.keys()
                assert "auto_pad" not in op.properties
                assert all(ops.constant_of(value) is not None for value in op.operands[1:])
            case ops.GemmOp():
                assert op.alpha.value.data == op.beta.value.data == 1
                assert not op.trans_a.value.data
                assert not op.trans_b.value.data
                assert ops.constant_of(op.b) is not None
                if op.c is not None:
                    assert ops.constant_of(op.c) is not None
                    assert shape_of(op.c) == shape_of(op.y)[1:]
            case ops.AddOp() | ops.MulOp():
                assert ops.constant_of(op.a) is None
                layer = isinstance(op.a.owner, ops.ConvOp | ops.GemmOp) and op.a.has_one_use()
                assert not (layer and ops.constant_of(op.b) is not None)
            case ops.ReshapeOp():
                assert op.data.type != op.reshaped.type
                assert not isinstance(op.data.owner, ops.ReshapeOp)
            case _:
                kind = op.name.removeprefix("onnx.")
                assert kind not in {"BatchNormalization", "Sum", "Sub", "Dropout", "Identity", "Flatten", "Squeeze"}
                assert kind not in {"Unsqueeze", "Shape", "Gather", "ConstantOfShape", "ReduceMean"}
        if op.operands:
            assert any(ops.constant_of(value) is None for value in op.operands), f"{op.name} is constant"
        assert any(result.uses for result in op.results), f"{op.name} is unused"


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_architecture(name: str) -> None:
    model = build(name, image_size=SMALLEST.get(name, 32), num_classes=10)
    module = check_model(model)
    assert_normal_form(module)


@pytest.mark.parametrize("opset", [7, 9, 11, 13, 18, onnx.defs.onnx_opset_version()])
@pytest.mark.parametrize("name", ["mobilenet_v2", "squeezenet1_0"])
def test_architecture_in_opset(name: str, opset: int) -> None:
    assert_normal_form(check_model(build(name, image_size=64, num_classes=10, opset=opset)))


@pytest.mark.parametrize("name", ["resnet18", "squeezenet1_0"])
def test_logits_are_of_order_one(name: str) -> None:
    model = build(name, image_size=64, num_classes=100, seed=3)
    logits = run_onnxruntime(model, random_inputs(model))["logits"]
    assert 0.2 < logits.std() < 5


def test_build_is_deterministic() -> None:
    first, second = (build("shufflenet_v1", image_size=32, num_classes=10, seed=1) for _ in range(2))
    assert first.SerializeToString() == second.SerializeToString()


def test_resnet18_counts() -> None:
    module = check_model(build("resnet18", image_size=64, num_classes=10))
    assert op_counts(module) == {
        "Conv": 20,
        "Relu": 17,
        "MaxPool": 1,
        "Add": 8,
        "GlobalAveragePool": 1,
        "Reshape": 1,
        "Gemm": 1,
    }


def test_op_count_does_not_depend_on_the_image_size() -> None:
    small, large = (op_counts(check_model(build("resnet18", size, num_classes=10))) for size in (64, 128))
    assert small == large


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[pytest.mark.slow] if path.stem in SLOW else [], id=path.stem)
        for path in sorted(LIGHT.glob("*.onnx"))
    ],
)
def test_light_model(path: Path) -> None:
    assert_normal_form(check_model(onnx.load(path)))
