"""Networks of several samples: each op keeps them apart as the interpreter computes them, or is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest
from compilation import parse_module
from numpy.typing import NDArray
from test_onnx_simplify import Graph, extend
from tilec.analysis.contract import check as check_contract
from tilec.analysis.contract import interface_of_samples, times
from tilec.analysis.proxies import Level, Proxies
from tilec.dialects import onnx
from tilec.dialects.onnx_base import OnnxOp, shape_of
from tilec.dialects.registry import make_context
from tilec.lowering.onnx_importer import import_onnx
from tilec.lowering.proxies import proxies
from tilec.lowering.sample_axis import RULES
from tilec.lowering.samples import SAMPLES, samples_of
from tilec.passes.guard import Guard
from tilec.passes.manager import PassManager, Verifier
from tilec.passes.onnx_batch import OnnxBatchPass
from tilec.passes.onnx_simplify import OnnxSimplifyPass
from tilec.passes.watch_plan import contract_of
from tilec.simulators.onnx_interpreter import interpret, network_of
from tilec.support.diagnostics import TileError, TileErrors
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64

N = 3


def network(body: str, result: str, *arguments: str) -> str:
    """A network of ``%x``, ``%y``, ... of the types, whose result is ``%z``."""
    names = ", ".join(f"%{name}: tensor<{type}>" for name, type in zip("xyuv", arguments, strict=False))
    return f"func.func @main({names}) -> tensor<{result}> {{\n{body}\n  func.return %z : tensor<{result}>\n}}\n"


def op(name: str, result: str, *operands: str, attributes: str = "", arguments: int = 1) -> str:
    """One op; the first ``arguments`` operands are inputs of the network, the others constants."""
    names = list("xyuv")
    lines: list[str] = []
    used: list[str] = []
    for index, type in enumerate(operands):
        if index < arguments:
            used.append(f"%{names[index]}")
            continue
        extents = type.split("x")[:-1]
        shape = ", ".join(extents)
        value = "2" if type.endswith("i64") else "0.75"
        lines.append(f"  %c{index} = onnx.Constant #tile.array<{type.split('x')[-1]}[{shape}] splat {value}>")
        used.append(f"%c{index}")
    types = ", ".join(f"tensor<{type}>" for type in operands)
    lines.append(f'  %z = onnx.{name}({", ".join(used)}) {{{attributes}}} : ({types}) -> tensor<{result}> loc("n")')
    return network("\n".join(lines), result, *operands[:arguments])


IMAGE, ROW = "1x4x6x6xf32", "1x8xf32"

KEPT = {
    "Conv": op("Conv", "1x2x4x4xf32", IMAGE, "2x4x3x3xf32", "2xf32"),
    "MaxPool": op("MaxPool", "1x4x2x2xf32", IMAGE, attributes="kernel_shape = array<i64: 5, 5>"),
    "AveragePool": op("AveragePool", "1x4x5x5xf32", IMAGE, attributes="kernel_shape = array<i64: 2, 2>"),
    "GlobalAveragePool": op("GlobalAveragePool", "1x4x1x1xf32", IMAGE),
    "GlobalMaxPool": op("GlobalMaxPool", "1x4x1x1xf32", IMAGE),
    "BatchNormalization": op("BatchNormalization", IMAGE, IMAGE, *["4xf32"] * 4),
    "LRN": op("LRN", IMAGE, IMAGE, attributes="size = 3 : i64"),
    "Gemm": op("Gemm", "1x5xf32", ROW, "5x8xf32", "5xf32", attributes="transB = 1 : i64"),
    "Gemm, summand of each sample": network(
        "  %w = onnx.Constant #tile.array<f32[8, 5] splat 0.5>\n"
        "  %z = onnx.Gemm(%x, %w, %y) : (tensor<1x8xf32>, tensor<8x5xf32>, tensor<1x5xf32>) -> tensor<1x5xf32>",
        "1x5xf32", ROW, "1x5xf32",
    ),
    "MatMul": op("MatMul", "1x5xf32", ROW, "8x5xf32"),
    "MatMul, vector": op("MatMul", "1xf32", ROW, "8xf32"),
    "MatMul, stacks": op("MatMul", "1x4x5xf32", "1x4x8xf32", "1x8x5xf32", arguments=2),
    "MatMul, second": network(
        "  %w = onnx.Constant #tile.array<f32[5, 4] splat 0.5>\n"
        "  %z = onnx.MatMul(%w, %x) : (tensor<5x4xf32>, tensor<1x4x8xf32>) -> tensor<1x5x8xf32>",
        "1x5x8xf32", "1x4x8xf32",
    ),
    **{name: op(name, IMAGE, IMAGE, "4x1x1xf32") for name in ("Add", "Sub", "Mul", "Div", "Pow", "PRelu")},
    "Mod": op("Mod", "1x4xi64", "1x4xi64", "4xi64"),
    "Add, one for all": op("Add", IMAGE, IMAGE, "f32"),
    "Add, of two": op("Add", IMAGE, IMAGE, "1x1x6x6xf32", arguments=2),
    "PRelu, slopes of each sample": op("PRelu", IMAGE, IMAGE, "1x4x1x1xf32", arguments=2),
    **{name: op(name, "1x8xi1", ROW, ROW, arguments=2) for name in ("Equal", "Greater", "Less")},
    "Where": op("Where", ROW, "1x8xi1", ROW, "f32", arguments=2),
    **{name: op(name, IMAGE, IMAGE, IMAGE, "6xf32", arguments=2) for name in ("Sum", "Mean", "Max", "Min")},
    **{
        name: op(name, "1x4xf32", IMAGE, attributes="axes = array<i64: -1, 2>, keepdims = 0 : i64")
        for name in ("ReduceMean", "ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin")
    },
    "Softmax": op("Softmax", ROW, ROW),
    "LogSoftmax": op("LogSoftmax", IMAGE, IMAGE, attributes="axis = 1 : i64"),
    **{
        name: op(name, IMAGE, IMAGE)
        for name in "Relu LeakyRelu Elu HardSigmoid HardSwish Sigmoid Tanh Softplus Erf Exp Log Sqrt Reciprocal Neg "
        "Abs Floor Ceil Clip Identity Dropout".split()
    },
    "Not": op("Not", "1x8xi1", "1x8xi1"),
    "Cast": op("Cast", "1x8xi64", ROW, attributes="to = i64"),
    "Reshape": op("Reshape", "1x12x3x4xf32", IMAGE),
    "Flatten": op("Flatten", "1x144xf32", IMAGE),
    "Flatten, last": op("Flatten", "1x1xf32", "1x1x1xf32", attributes="axis = 3 : i64"),
    "Squeeze": op("Squeeze", "1x4xf32", "1x4x1x1xf32", attributes="axes = array<i64: 2, -1>"),
    "Unsqueeze": op("Unsqueeze", "1x1x8x1xf32", ROW, attributes="axes = array<i64: 1, -1>"),
    "Transpose": op("Transpose", "1x6x6x4xf32", IMAGE, attributes="perm = array<i64: 0, 2, 3, 1>"),
    "Concat": op("Concat", "1x8x6x6xf32", IMAGE, IMAGE, attributes="axis = 1 : i64", arguments=2),
    "Split": network(
        '  %z, %s = onnx.Split(%x) {axis = 1 : i64, split = array<i64: 3, 1>} : (tensor<1x4x6x6xf32>) -> '
        "(tensor<1x3x6x6xf32>, tensor<1x1x6x6xf32>)", "1x3x6x6xf32", IMAGE,
    ),
    "Slice": op("Slice", "1x4x2x6xf32", IMAGE,
                attributes="starts = array<i64: 1>, ends = array<i64: 5>, axes = array<i64: 2>, steps = array<i64: 2>"),
    "Gather": op("Gather", "1x2x6x6xf32", IMAGE, "2xi64", attributes="axis = 1 : i64"),
    "Gather, of a table": network(
        "  %t = onnx.Constant #tile.array<f32[2, 2] [1.0, 2.0, 3.0, 4.0]>\n"
        "  %z = onnx.Gather(%t, %x) : (tensor<2x2xf32>, tensor<1x5xi64>) -> tensor<1x5x2xf32>", "1x5x2xf32", "1x5xi64",
    ),
    "Pad": op("Pad", "1x4x8x7xf32", IMAGE, attributes="pads = array<i64: 0, 0, 1, 1, 0, 0, 1, 0>"),
    "Expand": op("Expand", "1x4x6xf32", "1x1x6xf32"),
    "Tile": op("Tile", "1x16xf32", ROW, attributes="repeats = array<i64: 1, 2>"),
}  # fmt: skip
"""By the name of an op, and what is special: networks that several samples may go through."""

REFUSED = {
    "Conv": (op("Conv", "1x1x4x4xf32", IMAGE, "1x4x3x3xf32", arguments=2), "operand 1, .* differs"),
    "BatchNormalization": (
        op("BatchNormalization", "1x1x6xf32", "1x1x6xf32", *["1xf32"] * 4, arguments=2),
        "operand 1, of type tensor<1xf32>, differs",
    ),
    "Gemm, transposed": (op("Gemm", "4x3xf32", "1x4xf32", "1x3xf32", attributes="transA = 1 : i64"), "is transposed"),
    "Gemm, second": (op("Gemm", "1x3xf32", "1x1xf32", "1x3xf32", arguments=2), "second differs from sample to sample"),
    "Gemm, summand": (
        network(
            "  %w = onnx.Constant #tile.array<f32[8, 5] splat 0.5>\n"
            "  %z = onnx.Gemm(%x, %w, %y) : (tensor<1x8xf32>, tensor<8x5xf32>, tensor<1xf32>) -> tensor<1x5xf32>",
            "1x5xf32", ROW, "1xf32",
        ),
        "its summand of rank 1",
    ),
    "MatMul, second": (op("MatMul", "1x3xf32", "1x1xf32", "1x3xf32", arguments=2), "second factor, .* is added up"),
    "MatMul, rank": (op("MatMul", "2x1x5xf32", "1x8xf32", "2x8x5xf32"), "becomes another of 3"),
    "Add": (op("Add", "1x4x8xf32", "1x4x8xf32", "1x8xf32", arguments=2), "becomes another of 3"),
    "Add, extent": (op("Add", "5x8xf32", ROW, "5x8xf32"), "has no leading axis of one sample"),
    "PRelu": (
        network(
            "  %w = onnx.Constant #tile.array<f32[1, 8] splat 0.5>\n"
            "  %z = onnx.PRelu(%w, %x) : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>", ROW, ROW,
        ),
        "only its slope differs",
    ),
    "ReduceMean": (op("ReduceMean", "1x1xf32", ROW, attributes="axes = array<i64: -2, 1>"), "reduces over axis 0"),
    "ReduceSum, all": (op("ReduceSum", "1x1xf32", ROW), "reduces over axis 0"),
    "Softmax": (op("Softmax", ROW, ROW, attributes="axis = 0 : i64"), "works along axis 0"),
    "Split": (
        network(
            "  %z = onnx.Split(%x) {split = array<i64: 1>} : (tensor<1x8xf32>) -> (tensor<1x8xf32>)", ROW, ROW
        ),
        "works along axis 0",
    ),
    "Concat": (op("Concat", "2x8xf32", ROW, ROW, attributes="axis = 0 : i64", arguments=2), "works along axis 0"),
    "Concat, constant": (
        op("Concat", "1x9xf32", ROW, "1x1xf32", attributes="axis = 1 : i64"), "is the same for all samples",
    ),
    "Reshape": (op("Reshape", "2x4xf32", ROW), "has no leading axis of one sample"),
    "Flatten": (op("Flatten", "1x8xf32", ROW, attributes="axis = 0 : i64"), "one row of all samples"),
    "Flatten, from the end": (op("Flatten", "1x8xf32", ROW, attributes="axis = -2 : i64"), "one row of all samples"),
    "Flatten, rows": (op("Flatten", "8x1xf32", ROW, attributes="axis = 2 : i64"), "has no leading axis"),
    "Squeeze": (op("Squeeze", "8xf32", ROW), "drops axis 0"),
    "Squeeze, axis": (op("Squeeze", "8xf32", ROW, attributes="axes = array<i64: -2>"), "drops axis 0"),
    "Unsqueeze": (op("Unsqueeze", "1x1x8xf32", ROW, attributes="axes = array<i64: 0>"), "another axis before"),
    "Transpose": (op("Transpose", "1x1xf32", "1x1xf32"), "moves axis 0"),
    "Slice": (
        op("Slice", ROW, ROW, attributes="starts = array<i64: -1>, ends = array<i64: -2>, steps = array<i64: -1>"),
        "selects along axis 0",
    ),
    "Gather": (op("Gather", "1x8xf32", ROW, "1xi64"), "selects along axis 0"),
    "Gather, each its own": (
        op("Gather", "1x1x1xf32", "1x8xf32", "1x1xi64", attributes="axis = 1 : i64", arguments=2), "from its own data",
    ),
    "Gather, axis": (
        network(
            "  %t = onnx.Constant #tile.array<f32[1, 2] splat 0.5>\n"
            "  %z = onnx.Gather(%t, %x) {axis = 1 : i64} : (tensor<1x2xf32>, tensor<1x5xi64>) -> tensor<1x1x5xf32>",
            "1x1x5xf32", "1x5xi64",
        ),
        "becomes axis 1",
    ),
    "Pad": (op("Pad", "2x8xf32", ROW, attributes="pads = array<i64: 1, 0, 0, 0>"), "pads axis 0"),
    "Expand": (op("Expand", "1x4x8xf32", ROW), "becomes another of 3"),
    "Tile": (op("Tile", "2x8xf32", ROW, attributes="repeats = array<i64: 2, 1>"), "repeats axis 0"),
    "Shape": (op("Shape", "2xi64", ROW), "tells how many samples"),
    "Size": (op("Size", "i64", ROW), "tells how many samples"),
}  # fmt: skip
"""The same of networks in which the samples would be mixed, with the reason."""


def spread(module: ModuleOp, samples: int = N) -> ModuleOp:
    """The network of several samples, verified and guarded."""
    PassManager((OnnxBatchPass(samples),), (Guard(), Verifier())).run(make_context(), module)
    return module


def given(module: ModuleOp, samples: int, seed: int = 0) -> dict[str, NDArray[np.generic]]:
    """Random inputs, positive where logarithms and roots are taken of them."""
    random = np.random.default_rng(seed)
    found: dict[str, NDArray[np.generic]] = {}
    for index, argument in enumerate(network_of(module).body.block.args):
        shape = (samples, *shape_of(argument)[1:])
        text = str(argument.type)
        if "i1" in text:
            found[f"input{index}"] = random.random(shape) < 0.5
        elif "i64" in text:
            found[f"input{index}"] = random.integers(0, 2, shape)
        else:
            found[f"input{index}"] = (random.random(shape) + 0.1).astype(np.float32)
    return found


def check(one: ModuleOp, several: ModuleOp) -> None:
    """What several samples give together is what each gives alone."""
    inputs = given(one, N)
    (together,) = interpret(several, inputs).values()
    assert len(together) == N
    for sample in range(N):
        (alone,) = interpret(one, {name: array[sample : sample + 1] for name, array in inputs.items()}).values()
        assert together.dtype == alone.dtype
        np.testing.assert_allclose(together[sample : sample + 1], alone, rtol=1e-5, atol=1e-6)
    assert not np.array_equal(together[0], together[1]) or together.dtype == np.bool_


@pytest.mark.parametrize("name", KEPT)
def test_samples_go_through_as_if_alone(name: str) -> None:
    check(parse_module(KEPT[name]), spread(parse_module(KEPT[name])))


@pytest.mark.parametrize("name", REFUSED)
def test_samples_that_would_mix_are_refused(name: str) -> None:
    text, reason = REFUSED[name]
    parse_module(text).verify()
    with pytest.raises(TileError, match=reason) as error:
        spread(parse_module(text))
    place = "node 'n'" if "loc(" in text else r"module:\d+:\d+"
    assert re.match(rf"error: {place} \(onnx\.{name.split(',')[0]}\): ", str(error.value))
    assert str(error.value).endswith("; compile it for one sample")


def test_every_op_has_a_rule_and_a_network_that_shows_it() -> None:
    ops = [kind for kind in onnx.Onnx.operations if issubclass(kind, OnnxOp)]
    reading = {kind for kind in ops if kind not in (onnx.ConstantOp, onnx.ConstantOfShapeOp)}
    assert set(RULES) == reading
    shown = {name.partition(",")[0] for name in KEPT}
    assert {kind.name.removeprefix("onnx.") for kind in reading} == shown | {"Shape", "Size"}


@pytest.mark.parametrize("seed", range(20))
def test_random_networks(seed: int) -> None:
    """What is simplified is one network for each sample, whatever layers it has."""
    graph = Graph((1, 4, 6, 6), np.random.default_rng(seed))
    steps = "conv norm add mul sub residual sum mean relu clip transpose".split()
    for _ in range(6):
        extend(graph, str(graph.random.choice(steps)))
    model = graph.model((1, 4, 6, 6)).SerializeToString()
    modules = [import_onnx(model), import_onnx(model)]
    for module in modules:
        OnnxSimplifyPass().apply(make_context(), module)
        network_of(module).properties.pop("arg_attrs", None)
    check(modules[0], spread(modules[1]))


# The module around it


def test_one_sample_changes_nothing() -> None:
    text = KEPT["Conv"]
    module = spread(parse_module(text), 1)
    assert str(module) == str(parse_module(text))
    assert samples_of(module) == 1


def test_types_of_the_function_and_the_number_of_samples_are_recorded() -> None:
    module = spread(parse_module(KEPT["Gemm"]))
    assert str(network_of(module).function_type) == "(tensor<3x8xf32>) -> tensor<3x5xf32>"
    assert samples_of(module) == N
    for wrong in (StringAttr("3"), IntegerAttr(0, i64)):
        module.attributes[SAMPLES] = wrong
        with pytest.raises(TileError, match="an integer of at least 1 is expected"):
            samples_of(module)


def test_all_faults_are_told_and_what_follows_from_them_is_not() -> None:
    text = network(
        '  %a = onnx.Softmax(%x) {axis = 0 : i64} : (tensor<1x8xf32>) -> tensor<1x8xf32> loc("a")\n'
        '  %b = onnx.Transpose(%a) : (tensor<1x8xf32>) -> tensor<8x1xf32> loc("b")\n'
        '  %c = onnx.ReduceSum(%x) : (tensor<1x8xf32>) -> tensor<1x1xf32> loc("c")\n'
        "  %z = onnx.Relu(%b) : (tensor<8x1xf32>) -> tensor<8x1xf32>",
        "8x1xf32", ROW, "8xf32",
    )  # fmt: skip
    with pytest.raises(TileErrors) as caught:
        spread(parse_module(text))
    assert re.findall(r"error: (\S+ '\w+')", str(caught.value)) == ["input 'input1'", "node 'a'", "node 'c'"]


def test_what_comes_from_constants_alone_is_refused() -> None:
    constants = (
        "  %c = onnx.Constant #tile.array<f32[1, 8] splat 0.5>\n"
        "  %n = onnx.Neg(%c) : (tensor<1x8xf32>) -> tensor<1x8xf32>\n"
    )
    returned = network(constants.replace("%n =", "%z ="), ROW, ROW)
    with pytest.raises(TileError, match="output 'output0': it does not depend on the samples"):
        spread(parse_module(returned))
    twice = "  %m = onnx.Exp(%n) : (tensor<1x8xf32>) -> tensor<1x8xf32>\n"
    added = "  %z = onnx.Add(%x, %m) : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>"
    with pytest.raises(TileError, match="computes from constants alone, run onnx-simplify before"):
        spread(parse_module(network(constants + twice + added, ROW, ROW)))


TWO = """
func.func @main(%x: tensor<1x8xf32>, %y: tensor<1x8xf32>) -> (tensor<1x8xf32>, tensor<1x8xf32>) {
  %a = onnx.Relu(%x) : (tensor<1x8xf32>) -> tensor<1x8xf32> loc("a")
  %b = onnx.Exp(%y) : (tensor<1x8xf32>) -> tensor<1x8xf32> loc("b")
  func.return %a, %b : tensor<1x8xf32>, tensor<1x8xf32>
}
"""

ONE_OF_THREE = """
func.func @main(%x: tensor<3x8xf32>) -> tensor<3x5xf32> {
  %w = onnx.Constant #tile.array<f32[8, 5] splat 0.75>
  %s = onnx.Slice(%x) {starts = array<i64: 0>, ends = array<i64: 1>} : (tensor<3x8xf32>) -> tensor<1x8xf32>
  %y = onnx.MatMul(%s, %w) : (tensor<1x8xf32>, tensor<8x5xf32>) -> tensor<1x5xf32> loc("n")
  %z = onnx.Expand(%y) : (tensor<1x5xf32>) -> tensor<3x5xf32>
  func.return %z : tensor<3x5xf32>
}
"""


@pytest.mark.parametrize(
    ("before", "after", "fields"),
    [
        (TWO, TWO.replace("1x8", "3x8"), set[str]()),
        (TWO, TWO, {"interface", "compute_instances", "lanes_of_node", "element_passes", "element_passes_of_node"}),
        (
            TWO,
            TWO.replace("%x: tensor<1x8", "%x: tensor<3x8")
            .replace("-> (tensor<1x8", "-> (tensor<3x8")
            .replace(
                "onnx.Relu(%x) : (tensor<1x8xf32>) -> tensor<1x8", "onnx.Relu(%x) : (tensor<3x8xf32>) -> tensor<3x8"
            )
            .replace("%a, %b : tensor<1x8", "%a, %b : tensor<3x8"),
            {"interface", "compute_instances", "lanes_of_node", "element_passes", "element_passes_of_node"},
        ),
        (KEPT["MatMul"], KEPT["MatMul"].replace("1x8", "3x8").replace("1x5", "3x5"), set[str]()),
        (KEPT["MatMul"], ONE_OF_THREE, {"lanes_of_node", "macs", "layer_elements", "compute_instances"}),
    ],
    ids=["all", "nothing", "one branch", "all of a layer", "one of all samples"],
)
def test_everything_has_to_be_so_many_times(before: str, after: str, fields: set[str]) -> None:
    """The contract of three samples, of a pass that makes of the network what is given."""
    contract = contract_of(OnnxBatchPass(3))
    made = parse_module(after)
    made.attributes[SAMPLES] = IntegerAttr(3, i64)
    found = check_contract(contract, proxies(parse_module(before)), proxies(made))
    harm = {change.field for change in found if change.verdict.is_harm}
    assert harm == fields or (fields and fields <= harm)
    assert contract_of(OnnxBatchPass(3)).clauses.keys() == contract_of(OnnxBatchPass).clauses.keys()


def test_mappings_of_several_samples() -> None:
    record = Proxies(Level.ONNX, macs=5, lanes_of_node=(("a", 2), ("b", 1)), interface="input x [1, 2]; output [1] [1]")
    assert times("macs", 3)(record, record) == 15
    assert times("lanes_of_node", 3)(record, record) == (("a", 6), ("b", 3))
    assert times("recomputed", 3)(record, record) is None
    assert interface_of_samples(12)(record, record) == "input x [12, 2]; output [1] [12]"
    assert interface_of_samples(12)(Proxies(Level.ONNX), record) is None


def test_an_op_without_a_rule_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(RULES, onnx.TanhOp)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TileError, match=r"\(onnx.Tanh\): what it does with several samples is not known"):
        spread(parse_module(KEPT["Tanh"]))
