"""Every op of the `onnx` dialect: its documented example, and what its verifier rejects."""

from __future__ import annotations

import inspect
import io
import re

import pytest
from tilec.dialects.onnx import Onnx
from tilec.dialects.onnx_base import OnnxOp
from tilec.dialects.tile import Tile
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.test import Test
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import DiagnosticException, ParseError, VerifyException

OPS = [op for op in Onnx.operations if issubclass(op, OnnxOp)]


def parse_op(text: str) -> Operation:
    """Parses one op; its operands need no definition."""
    context = Context()
    for dialect in (Builtin, Tile, Onnx, Test):
        context.load_dialect(dialect)
    return Parser(context, text).parse_op()


def printed(op: Operation) -> str:
    """The text of ``op`` with values named `%0`, `%1`, …"""
    stream = io.StringIO()
    Printer(stream).print_op(op)
    return stream.getvalue()


def numbered(text: str) -> str:
    """``text`` with values renamed to `%0`, `%1`, … in order of appearance."""
    names: dict[str, str] = {}
    return re.sub(r"%\w+", lambda match: names.setdefault(match.group(), f"%{len(names)}"), text)


@pytest.mark.parametrize("op_class", OPS, ids=lambda op: op.name)
def test_documented_example(op_class: type[IRDLOperation]) -> None:
    documentation = inspect.getdoc(op_class) or ""
    examples = re.findall(r"```mlir\n(.*?)```", documentation, re.DOTALL)
    assert examples, f"{op_class.name} has no example"
    for example in examples:
        op = parse_op(example)
        assert type(op) is op_class
        op.verify()
        assert numbered(printed(op)) == numbered(example.strip())
        assert numbered(printed(parse_op(printed(op)))) == numbered(example.strip())


@pytest.mark.parametrize("op_class", OPS, ids=lambda op: op.name)
def test_generic_form(op_class: type[IRDLOperation]) -> None:
    example = re.findall(r"```mlir\n(.*?)```", inspect.getdoc(op_class) or "", re.DOTALL)[0]
    stream = io.StringIO()
    Printer(stream, print_generic_format=True).print_op(parse_op(example))
    op = parse_op(stream.getvalue())
    op.verify()
    assert numbered(printed(op)) == numbered(example.strip())


def test_absent_operands_keep_their_place() -> None:
    text = "%0 = onnx.Conv(%1, %2) : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x8x8xf32>"
    op = parse_op(text)
    op.verify()
    assert numbered(printed(op)) == numbered(text)


REJECTED = [
    ("onnx.Relu(%x, %z) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>", "Expected 1 operands|Expected 1 operand"),
    ("onnx.Relu(%x) : (tensor<1x?xf32>) -> tensor<1x?xf32>", "dynamic dimension.*--dim NAME=N"),
    ("onnx.Relu(%x) : (tensor<1x3xf32>) -> tensor<1x4xf32>", "onnx.Relu: result type is tensor<1x4xf32>, expected"),
    ("onnx.Relu(%x) {slope = 1 : i64} : (tensor<1xf32>) -> tensor<1xf32>", "has no attribute 'slope'"),
    ("onnx.Add(%x, %y) : (tensor<3xf32>, tensor<4xf32>) -> tensor<4xf32>", "shapes 3 and 4 do not broadcast"),
    ("onnx.Add(%x, %y) : (tensor<3xf32>, tensor<3xi64>) -> tensor<3xf32>", "mix element types"),
    ("onnx.Add(%x, %y) : (tensor<3xf32>, tensor<3x1xf32>) -> tensor<3xf32>", "expected tensor<3x3xf32>"),
    ("onnx.Sum() : () -> tensor<3xf32>", "has no operands"),
    (
        "onnx.Conv(%x, %w) : (tensor<1x3x8x8xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x6x6xf32>",
        "x has 3 channels, w takes 2 in each of 1 groups",
    ),
    (
        "onnx.Conv(%x, %w) {kernel_shape = array<i64: 5, 5>} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) "
        "-> tensor<1x4x6x6xf32>",
        "kernel_shape is .5, 5., w has kernels of 3x3",
    ),
    (
        "onnx.Conv(%x, %w) {strides = array<i64: 0, 1>} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) "
        "-> tensor<1x4x6x6xf32>",
        "strides .0, 1. is not positive",
    ),
    (
        "onnx.Conv(%x, %w) {pads = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) "
        "-> tensor<1x4x6x6xf32>",
        "pads has 2 values, expected 4",
    ),
    (
        'onnx.Conv(%x, %w) {auto_pad = "SAME"} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>',
        "unknown auto_pad 'SAME'",
    ),
    (
        "onnx.Conv(%x, %w) : (tensor<1x3x2x2xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x1x1xf32>",
        "window of 3 does not fit into 2 plus pads in dimension 2",
    ),
    (
        "onnx.Conv(%x, %w, %b) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<3xf32>) -> tensor<1x4x6x6xf32>",
        "b has shape 3, expected 4",
    ),
    (
        "onnx.Conv(%x, %w) {group = 0 : i64} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>",
        "group is 0",
    ),
    (
        "onnx.MaxPool(%x) {kernel_shape = array<i64: 2, 2>, pads = array<i64: 2, 2, 2, 2>} : (tensor<1x3x8x8xf32>) "
        "-> tensor<1x3x11x11xf32>",
        "are not smaller than the window",
    ),
    ("onnx.GlobalAveragePool(%x) : (tensor<1x3xf32>) -> tensor<1x3xf32>", "expected .N, C, spatial"),
    (
        "onnx.Gemm(%a, %b) : (tensor<1x3xf32>, tensor<4x3xf32>) -> tensor<1x4xf32>",
        "a has 3 columns, b has 4 rows",
    ),
    (
        "onnx.Gemm(%a, %b, %c) : (tensor<1x3xf32>, tensor<3x4xf32>, tensor<3xf32>) -> tensor<1x4xf32>",
        "do not broadcast",
    ),
    ("onnx.MatMul(%a, %b) : (tensor<f32>, tensor<3x4xf32>) -> tensor<4xf32>", "a scalar has no matrix product"),
    (
        "onnx.BatchNormalization(%x, %s, %s, %s, %s) : (tensor<1x3x2xf32>, tensor<4xf32>, tensor<4xf32>, "
        "tensor<4xf32>, tensor<4xf32>) -> tensor<1x3x2xf32>",
        "scale has shape 4, expected 3",
    ),
    (
        "onnx.Softmax(%x) {axis = 2 : i64} : (tensor<1x3xf32>) -> tensor<1x3xf32>",
        "axis 2 is outside a tensor of rank 2",
    ),
    ("onnx.LRN(%x) {size = 0 : i64} : (tensor<1x3xf32>) -> tensor<1x3xf32>", "size is 0"),
    ("onnx.Reshape(%x) : (tensor<2x3xf32>) -> tensor<7xf32>", "2x3 and 7 differ in their number of elements"),
    ("onnx.Squeeze(%x) {axes = array<i64: 0>} : (tensor<2x1xf32>) -> tensor<1xf32>", "have not all extent 1"),
    (
        "onnx.Unsqueeze(%x) {axes = array<i64: 0, -3>} : (tensor<2xf32>) -> tensor<1x1x2xf32>",
        "name one axis twice",
    ),
    ("onnx.Transpose(%x) {perm = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<2x2xf32>", "does not permute 2 axes"),
    (
        "onnx.Concat(%x, %y) {axis = 0 : i64} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>",
        "differ in more than axis 0",
    ),
    (
        "onnx.Split(%x) {split = array<i64: 1, 2>} : (tensor<4xf32>) -> (tensor<1xf32>, tensor<2xf32>)",
        "does not divide the 4 of axis 0",
    ),
    ("onnx.Split(%x) {split = array<i64: 1, 3>} : (tensor<4xf32>) -> tensor<1xf32>", "has 1 results, expected 2"),
    (
        "onnx.Slice(%x) {starts = array<i64: 0>, ends = array<i64: 1, 2>} : (tensor<4xf32>) -> tensor<1xf32>",
        "differ in length",
    ),
    (
        "onnx.Slice(%x) {starts = array<i64: 0>, ends = array<i64: 1>, steps = array<i64: 0>} : (tensor<4xf32>) "
        "-> tensor<1xf32>",
        "steps has a zero",
    ),
    ("onnx.Gather(%x, %i) : (tensor<4xf32>, tensor<2xf32>) -> tensor<2xf32>", "not integers"),
    ("onnx.Pad(%x) {pads = array<i64: 1>} : (tensor<4xf32>) -> tensor<5xf32>", "pads has 1 values, expected 2"),
    ("onnx.Pad(%x) {pads = array<i64: -3, -3>} : (tensor<4xf32>) -> tensor<5xf32>", "cut off more"),
    ("onnx.Expand(%x) : (tensor<4xf32>) -> tensor<2x3xf32>", "do not broadcast"),
    ("onnx.Tile(%x) {repeats = array<i64: 1>} : (tensor<4x2xf32>) -> tensor<4x2xf32>", "repeats has 1 values"),
    (
        "onnx.Where(%c, %x, %y) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>",
        "expected elements of",
    ),
    ("onnx.ReduceMean(%x) {axes = array<i64: 5>} : (tensor<4xf32>) -> tensor<1xf32>", "axes 5 is outside"),
    ("onnx.Cast(%x) {to = index} : (tensor<4xf32>) -> tensor<4xindex>", "cannot cast to index"),
]


@pytest.mark.parametrize(("text", "message"), REJECTED, ids=lambda value: value[:40])
def test_rejected(text: str, message: str) -> None:
    # A result name for each result type.
    count = text.rsplit("->", 1)[1].count("tensor<")
    op = parse_op(f"{', '.join(f'%r{i}' for i in range(count))} = {text}")
    with pytest.raises((VerifyException, DiagnosticException), match=message):
        op.verify()


def test_messages_name_the_node() -> None:
    op = parse_op('%y = onnx.Relu(%x) : (tensor<1x3xf32>) -> tensor<1x4xf32> loc("layer1/relu")')
    with pytest.raises((VerifyException, DiagnosticException), match=r"onnx.Relu at node 'layer1/relu': result type"):
        op.verify()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%y = onnx.Constant 3", "#tile.array expected"),
        ("%y = onnx.Relu(3) : (tensor<1xf32>) -> tensor<1xf32>", "operand expected"),
    ],
)
def test_bad_text(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse_op(text)
