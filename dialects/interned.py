"""Common attributes and types, each built once, so that equal ones are mostly the same object.

Attributes are immutable, so they can be shared. Building one takes longer than building the op that it is for, and
comparing or verifying attributes is quick if they are the same object.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from xdsl.dialects.builtin import (
    I64,
    DenseArrayBase,
    Float32Type,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    TensorType,
    f32,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue

KEPT = 1 << 14
"""How many of each kind are kept; the least recently used are dropped."""

Integer: TypeAlias = IntegerAttr[I64]
"""The type of what :func:`integer` gives."""


def integer(value: int) -> Integer:
    """The attribute `value : i64`."""
    return _integer(int(value))


def tensor_type(*shape: int) -> TensorType[Float32Type]:
    """The type `tensor<...xf32>` of this shape."""
    return _tensor_type(tuple(map(int, shape)))


def buffer_type(*shape: int) -> MemRefType[Float32Type]:
    """The type `memref<...xf32>` of this shape."""
    return _buffer_type(tuple(map(int, shape)))


@lru_cache(KEPT)
def string(text: str) -> StringAttr:
    """The attribute `"text"`."""
    return StringAttr(text)


@lru_cache(KEPT)
def segments(*sizes: int) -> DenseArrayBase[IntegerType]:
    """The sizes of an op's segments of operands or results, as `operandSegmentSizes` has them."""
    return DenseArrayBase.from_list(i32, sizes)


def initialize(
    op: Operation,
    operands: Sequence[SSAValue],
    properties: Mapping[str, Attribute | None],
    result_types: Sequence[Attribute],
    regions: Sequence[Region] = (),
) -> None:
    """Initializes an op from flat lists of operands and result types. IRDL's constructor, which sorts them into
    segments and checks them, takes much longer.

    ``properties`` include the sizes of segments; those that are None are left out.
    """
    given = {name: value for name, value in properties.items() if value is not None}
    Operation.__init__(op, operands=operands, properties=given, result_types=result_types, regions=regions)


def segment_sizes(op: Operation) -> tuple[int, ...]:
    """The sizes of the segments of the operands of an op that has several."""
    sizes = op.properties["operandSegmentSizes"]
    assert isinstance(sizes, DenseArrayBase)
    return _unpacked(sizes.data.data)


@lru_cache(KEPT)
def _unpacked(data: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(data) // 4}i", data)


# Numbers of numpy are equal to Python's and would otherwise stand in for them.


@lru_cache(KEPT)
def _integer(value: int) -> Integer:
    return IntegerAttr(value, i64)


@lru_cache(KEPT)
def _tensor_type(shape: tuple[int, ...]) -> TensorType[Float32Type]:
    return TensorType(f32, shape)


@lru_cache(KEPT)
def _buffer_type(shape: tuple[int, ...]) -> MemRefType[Float32Type]:
    return MemRefType(f32, shape)
