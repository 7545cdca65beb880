"""Small ONNX networks in pairs: the same computation, once as it should be and once with something needless in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper
from tilec.lowering.onnx_importer import import_onnx
from xdsl.dialects.builtin import ModuleOp

SHAPE = (1, 4, 8, 8)


def _network(middle: Sequence[NodeProto], constants: dict[str, Any], more: Sequence[str] = ()) -> ModuleOp:
    """A convolution, then ``middle`` from 'c' to 'y'; ``more`` names further outputs, shaped like 'y'."""
    weight = numpy_helper.from_array(np.ones((4, 4, 3, 3), np.float32), "w")
    tables = [numpy_helper.from_array(np.array(values), name) for name, values in constants.items()]
    conv = helper.make_node("Conv", ["x", "w"], ["c"], name="conv", kernel_shape=[3, 3], pads=[1] * 4)
    graph = helper.make_graph(
        [conv, *middle],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("y", *more)],
        [weight, *tables],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return import_onnx(model.SerializeToString())


def _relu(source: str, target: str) -> NodeProto:
    return helper.make_node("Relu", [source], [target], name="relu")


def plain() -> ModuleOp:
    return _network([_relu("c", "y")], {})


def renamed() -> ModuleOp:
    """What computes nothing stands between: a name for the same value, and a shape that stays."""
    nodes = [
        helper.make_node("Identity", ["c"], ["i"], name="identity"),
        helper.make_node("Reshape", ["i", "shape"], ["r"], name="reshape"),
        _relu("r", "y"),
    ]
    return _network(nodes, {"shape": SHAPE})


def flat() -> ModuleOp:
    """The rows of the image come as one row, whose elements a single lane computes in a loop."""
    nodes = [
        helper.make_node("Flatten", ["c"], ["f"], name="flatten"),
        _relu("f", "g"),
        helper.make_node("Reshape", ["g", "shape"], ["y"], name="reshape"),
    ]
    return _network(nodes, {"shape": SHAPE})


def row_by_row() -> ModuleOp:
    """An op for each row, in place of one for all."""
    rows = range(SHAPE[2])
    nodes: list[NodeProto] = []
    constants: dict[str, Any] = {"axis": [2]}
    for row in rows:
        constants |= {f"from{row}": [row], f"to{row}": [row + 1]}
        nodes.append(helper.make_node("Slice", ["c", f"from{row}", f"to{row}", "axis"], [f"s{row}"], name="slice"))
        nodes.append(_relu(f"s{row}", f"r{row}"))
    nodes.append(helper.make_node("Concat", [f"r{row}" for row in rows], ["y"], name="concat", axis=2))
    return _network(nodes, constants)


def there_and_back() -> ModuleOp:
    """Every element is moved elsewhere, and back."""
    nodes = [
        helper.make_node("Transpose", ["c"], ["t"], name="there", perm=[0, 2, 3, 1]),
        helper.make_node("Transpose", ["t"], ["b"], name="back", perm=[0, 3, 1, 2]),
        _relu("b", "y"),
    ]
    return _network(nodes, {})


def one_more_output() -> ModuleOp:
    """What nobody asked for goes to the host as well."""
    return _network([_relu("c", "y"), helper.make_node("Identity", ["c"], ["z"], name="identity")], {}, ["z"])


def scaled_apart() -> ModuleOp:
    """What the weights could hold is a multiplication by itself: a fusion undone."""
    nodes = [helper.make_node("Mul", ["c", "factors"], ["m"], name="mul"), _relu("m", "y")]
    return _network(nodes, {"factors": np.full((SHAPE[1], 1, 1), 2, np.float32)})


def largest_of_zeros() -> ModuleOp:
    """A Relu, spelled as the larger one of each element and a zero, of which there are as many."""
    nodes = [helper.make_node("Max", ["c", "zeros"], ["y"], name="relu")]
    return _network(nodes, {"zeros": np.zeros(SHAPE, np.float32)})


def _sums(pairs: Sequence[tuple[str, str, str]], beside: int = 0) -> ModuleOp:
    """``beside``: activations of one element for each channel, one after the other, that are an output of their own."""
    kinds = ("Relu", "Tanh", "Sigmoid", "Neg")
    parts = [helper.make_node(kind, ["c"], [f"p{n}"], name=f"part{n}") for n, kind in enumerate(kinds)]
    adds = [helper.make_node("Add", [a, b], [c], name=f"add{n}") for n, (a, b, c) in enumerate(pairs)]
    names = ["pooled", *[f"a{n}" for n in range(beside - 1)], "z"]
    short = [helper.make_node("GlobalAveragePool", ["c"], ["pooled"], name="pool")] if beside else []
    short += [helper.make_node("Tanh", [names[n]], [names[n + 1]], name=f"tanh{n}") for n in range(beside)]
    return _network([*parts, *adds, *short], {}, ["z"] if beside else [])


def tree_of_sums() -> ModuleOp:
    return _sums([("p0", "p1", "s0"), ("p2", "p3", "s1"), ("s0", "s1", "y")])


def tree_beside_activations() -> ModuleOp:
    return _sums([("p0", "p1", "s0"), ("p2", "p3", "s1"), ("s0", "s1", "y")], beside=8)


def chain_beside_activations() -> ModuleOp:
    """A longer path through large tensors, which is not the longest: one through small ones has more steps."""
    return _sums([("p0", "p1", "s0"), ("s0", "p2", "s1"), ("s1", "p3", "y")], beside=8)


def other_tree_of_sums() -> ModuleOp:
    return _sums([("p3", "p1", "s0"), ("p2", "p0", "s1"), ("s1", "s0", "y")])


def chain_of_sums() -> ModuleOp:
    """The same ops, one after the other."""
    return _sums([("p0", "p1", "s0"), ("s0", "p2", "s1"), ("s1", "p3", "y")])


def _joined(kind: str, order: Sequence[str], output: str, constants: dict[str, Any]) -> list[NodeProto]:
    """Convolutions of one pass each, joined in this order: 'a' and 'b' of 1 x 1, 'slow' of 5 x 5, 'slower' of 7 x 7."""
    nodes: list[NodeProto] = []
    for name, size in (("a", 1), ("b", 1), ("slow", 5), ("slower", 7)):
        if name in order:
            constants[f"w_{name}{output}"] = np.full((SHAPE[1], SHAPE[1], size, size), 1 + len(constants), np.float32)
            conv = helper.make_node("Conv", ["c", f"w_{name}{output}"], [name + output], name=f"conv_{name}{output}")
            conv.attribute.append(helper.make_attribute("pads", [size // 2] * 4))
            nodes.append(conv)
    first, second, third = [name + output for name in order]
    nodes.append(helper.make_node(kind, [first, second], ["s" + output], name="join1" + output))
    nodes.append(helper.make_node(kind, ["s" + output, third], [output], name="join2" + output))
    return nodes


def _chain_with_slow(kind: str, *order: str) -> ModuleOp:
    constants: dict[str, Any] = {}
    return _network(_joined(kind, order, "y", constants), constants)


def _two_chains(first: Sequence[str], second: Sequence[str]) -> ModuleOp:
    constants: dict[str, Any] = {}
    nodes = [*_joined("Add", first, "y", constants), *_joined("Add", second, "z", constants)]
    return _network(nodes, constants, ("z",))


def one_slow_added_last() -> ModuleOp:
    """Of two outputs, the first comes as soon as it can, and the other, which takes more, does not."""
    return _two_chains(("a", "b", "slow"), ("slower", "a", "b"))


def other_slow_added_last() -> ModuleOp:
    """What the second output gains is more than the first one loses."""
    return _two_chains(("slow", "a", "b"), ("a", "b", "slower"))


def both_slow_added_last() -> ModuleOp:
    return _two_chains(("a", "b", "slow"), ("a", "b", "slower"))


def slow_added_last() -> ModuleOp:
    return _chain_with_slow("Add", "a", "b", "slow")


def slow_added_first() -> ModuleOp:
    """Both sums wait for the operand of most work, which has no more passes than the others."""
    return _chain_with_slow("Add", "slow", "a", "b")


def quick_ones_commuted() -> ModuleOp:
    return _chain_with_slow("Add", "b", "a", "slow")


def slow_compared_last() -> ModuleOp:
    return _chain_with_slow("Max", "a", "b", "slow")


def slow_compared_first() -> ModuleOp:
    """The same of maxima."""
    return _chain_with_slow("Max", "slow", "a", "b")


def quick_ones_compared_in_turn() -> ModuleOp:
    return _chain_with_slow("Max", "b", "a", "slow")


def _layer_of_concat(*order: int) -> ModuleOp:
    """A convolution of two tensors side by side, in this order, with the weights to it."""
    parts = [helper.make_node(kind, ["c"], [f"p{n}"], name=f"part{n}") for n, kind in enumerate(("Relu", "Tanh"))]
    concat = helper.make_node("Concat", [f"p{n}" for n in order], ["side"], name="concat", axis=1)
    conv = helper.make_node("Conv", ["side", "v"], ["y"], name="conv")
    return _network([*parts, concat, conv], {"v": np.concatenate([_WEIGHTS[n] for n in order], axis=1)})


_WEIGHTS = np.random.default_rng(0).standard_normal((2, SHAPE[1], SHAPE[1], 1, 1)).astype(np.float32)


def layer_of_concat() -> ModuleOp:
    return _layer_of_concat(0, 1)


def layer_of_concat_in_another_order() -> ModuleOp:
    return _layer_of_concat(1, 0)


def layer_of_each_part() -> ModuleOp:
    """The same as a sum of two convolutions, under the names that were there: twice as many products, and a sum."""
    parts = [helper.make_node(kind, ["c"], [f"p{n}"], name=f"part{n}") for n, kind in enumerate(("Relu", "Tanh"))]
    convs = [helper.make_node("Conv", [f"p{n}", f"v{n}"], [f"y{n}"], name="conv") for n in range(2)]
    add = helper.make_node("Add", ["y0", "y1"], ["y"], name="concat")
    return _network([*parts, *convs, add], {f"v{n}": _WEIGHTS[n] for n in range(2)})


def grouped_layer() -> ModuleOp:
    weights = np.concatenate([_WEIGHTS[n][: SHAPE[1] // 2, : SHAPE[1] // 2] for n in range(2)])
    return _network([helper.make_node("Conv", ["c", "v"], ["y"], name="conv", group=2)], {"v": weights})


def grouped_layer_of_other_weights() -> ModuleOp:
    """Another network, which costs as much."""
    weights = np.concatenate([_WEIGHTS[n][: SHAPE[1] // 2, : SHAPE[1] // 2] for n in (1, 0)])
    return _network([helper.make_node("Conv", ["c", "v"], ["y"], name="conv", group=2)], {"v": weights})


def layer_of_each_group() -> ModuleOp:
    """A convolution for each group: products that one array does at a time become several."""
    half = SHAPE[1] // 2
    split = helper.make_node("Split", ["c"], ["c0", "c1"], name="split", axis=1)
    convs = [helper.make_node("Conv", [f"c{n}", f"v{n}"], [f"y{n}"], name="conv") for n in range(2)]
    concat = helper.make_node("Concat", ["y0", "y1"], ["y"], name="concat", axis=1)
    return _network([split, *convs, concat], {f"v{n}": _WEIGHTS[n][:half, :half] for n in range(2)})


def relu_twice() -> ModuleOp:
    return _network([_relu("c", "r"), helper.make_node("Relu", ["r"], ["y"], name="again")], {})


def relu_of_rows_apart() -> ModuleOp:
    """Each row of an image as many rows of a reshaped one: by its shape, what lies side by side is apart."""
    _, channels, rows, columns = SHAPE
    nodes = [
        helper.make_node("Reshape", ["c", "high"], ["h"], name="reshape"),
        _relu("h", "r"),
        helper.make_node("Reshape", ["r", "flat"], ["y"], name="back"),
    ]
    return _network(nodes, {"high": np.array([1, channels, rows * columns, 1]), "flat": np.array(SHAPE)})
