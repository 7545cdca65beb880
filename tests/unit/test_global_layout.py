"""Global memory: tensors do not overlap, and layouts find every element of the network's inputs and outputs."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tilec.codegen.global_layout import ALIGNMENT, GlobalLayout
from tilec.codegen.memory_image import TensorLayout
from tilec.dialects import pim
from tilec.dialects.tile import ArrayAttr
from xdsl.dialects.builtin import ArrayAttr as BuiltinArrayAttr
from xdsl.dialects.builtin import StringAttr, TensorType, f32
from xdsl.ir import Block, Region


def array(values: object, dtype: type = np.int64) -> ArrayAttr:
    return ArrayAttr.get(np.array(values, dtype))


def program(images: int, height: int, columns: int, segments: list[list[int]], shape: tuple[int, ...]) -> pim.ProgramOp:
    """An output of several tensors, each with some logical channels, beside inputs and constants."""
    total = sum(map(len, segments))
    full = (images, total, height, columns)
    source = pim.InputOp(StringAttr("x"), array(full), TensorType(f32, (images * height, columns, total)))
    twice = [pim.ConstantOp(ArrayAttr.get(np.full((1, 3), value, np.float32))) for value in (1, 1, 2)]
    values = [
        pim.InputOp(StringAttr(f"s{i}"), array((images, height * columns * len(s))),
                    TensorType(f32, (images * height, columns, len(s))))
        for i, s in enumerate(segments)
    ]  # fmt: skip
    channels = BuiltinArrayAttr([array(segment, np.int32) for segment in segments])
    output = pim.OutputOp(StringAttr("y"), array(shape), channels, [value.result for value in values])
    return pim.ProgramOp(Region(Block([source, *twice, *values, output])))


@st.composite
def cases(draw: st.DrawFn) -> tuple[int, int, int, list[list[int]]]:
    extents = [draw(st.integers(1, 4)) for _ in range(3)]
    total = draw(st.integers(1, 6))
    order = draw(st.permutations(range(total)))
    cuts = sorted(draw(st.sets(st.integers(1, max(total - 1, 1)), max_size=2)) - {total})
    bounds = [0, *(cut for cut in cuts if cut < total), total]
    return *extents, [list(order[a:b]) for a, b in itertools.pairwise(bounds)]


def read(layout: TensorLayout, memory: NDArray[np.int64], element_bytes: int) -> NDArray[np.int64]:
    return memory[layout.address_bytes // element_bytes + layout.element_index()]


@given(cases(), st.sampled_from([1, 2]), st.booleans())
def test_output(case: tuple[int, int, int, list[list[int]]], element_bytes: int, flat: bool) -> None:
    images, height, columns, segments = case
    total = sum(map(len, segments))
    shape = (images, total * height * columns) if flat else (images, total, height, columns)
    op = program(images, height, columns, segments, shape)
    layout = GlobalLayout.of(op, element_bytes)
    logical = np.arange(images * total * height * columns).reshape(images, total, height, columns)
    memory = np.full(layout.size_bytes // element_bytes + 1, -1, np.int64)
    for address, held in zip(layout.outputs["y"], segments, strict=True):
        # Row by row, column by column, the channels of the tensor side by side.
        rows = logical[:, held].transpose(0, 2, 3, 1).reshape(-1)
        start = address // element_bytes
        assert (memory[start : start + len(rows)] == -1).all()
        memory[start : start + len(rows)] = rows
    (found,) = layout.output_layouts(op)
    assert found.shape == shape
    assert np.array_equal(read(found, memory, element_bytes), logical.reshape(shape))


@given(cases())
def test_input(case: tuple[int, int, int, list[list[int]]]) -> None:
    images, height, columns, segments = case
    total = sum(map(len, segments))
    op = program(images, height, columns, segments, (images, total, height, columns))
    layout = GlobalLayout.of(op, 1)
    source = op.body.block.first_op
    assert isinstance(source, pim.InputOp)
    logical = np.arange(images * total * height * columns).reshape(images, total, height, columns)
    memory = np.full(layout.size_bytes + 1, -1, np.int64)
    start = layout.tensors[source.result]
    memory[start : start + logical.size] = logical.transpose(0, 2, 3, 1).reshape(-1)
    found = next(iter(layout.input_layouts(op)))
    assert (found.name, found.shape) == ("x", logical.shape)
    assert np.array_equal(read(found, memory, 1), logical)


def test_places() -> None:
    op = program(1, 2, 3, [[0, 2], [1]], (1, 3, 2, 3))
    layout = GlobalLayout.of(op, 1)
    places = [*layout.tensors.values(), *layout.outputs["y"], *layout.constants.values()]
    assert len(layout.constants) == 2, "equal constants share their place"
    assert all(place % ALIGNMENT == 0 for place in places)
    assert len(set(places)) == len(places)
    assert layout.size_bytes % ALIGNMENT == 0
    memory = layout.memory()
    assert [constant.values.tolist() for constant in memory.constants] == [[1] * 3, [2] * 3]
