"""Rules that the ops of the `spat` dialect and their counterparts in the `pim` dialect share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import IntegerAttr, ShapedType
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...analysis.window import RowWindow
from ..interned import KEPT
from ..tile import ArrayAttr, dtype_of


def verify_schedule(cores: ArrayAttr, replicas: int, steps: ArrayAttr, lanes: int) -> None:
    """A core for each replica and a step for each lane."""
    for name, table, count, owner in (("core", cores, replicas, "replicas"), ("step", steps, lanes, "lanes")):
        if table.shape != (count,) or table.dtype.kind not in "iu":
            raise VerifyException(f"{name}s are {table.tensor_type}, an integer for each of {count} {owner} expected")
        if table.has_data and (table.array < 0).any():
            raise VerifyException(f"a {name} is negative")


def lane_spans(spans: ArrayAttr | None, lanes: int) -> NDArray[np.int64]:
    """The steps that each lane extends over; 1 if nothing is said."""
    return np.ones(lanes, np.int64) if spans is None else spans.array.astype(np.int64)


def verify_spans(spans: ArrayAttr | None, lanes: int) -> None:
    """Every lane extends over at least one step."""
    if spans is None:
        return
    if spans.shape != (lanes,) or spans.dtype.kind not in "iu":
        raise VerifyException(f"spans are {spans.tensor_type}, an integer for each of {lanes} lanes expected")
    if spans.has_data and (spans.array < 1).any():
        raise VerifyException("a lane extends over less than one step")


@lru_cache(KEPT)
def verify_window(window: RowWindow, rows: int, lanes: int) -> None:
    """The window has a meaning, for an operand of so many rows in a batch of so many lanes."""
    if problems := window.problems():
        raise VerifyException("; ".join(problems))
    if rows % window.height or lanes % window.lanes:
        raise VerifyException(f"{rows} rows in images of {window.height}, {lanes} lanes in images of {window.lanes}")
    if rows // window.height != lanes // window.lanes:
        raise VerifyException(f"{rows // window.height} images of the input for {lanes // window.lanes} of the lanes")


def output_images(shape: ArrayAttr, images: IntegerAttr | None) -> int:
    """The images of an output: what is given, or the first extent of its shape."""
    return int(shape.array[0]) if images is None else images.value.data


def verify_element(element: Attribute | None) -> None:
    """The element type of an input or output, if given, is one of numbers."""
    if element is not None and dtype_of(element) is None:
        raise VerifyException(f"{element} is no element type of a network's input or output")


def verify_output(
    shape: ArrayAttr, images: IntegerAttr | None, channels: Sequence[ArrayAttr], values: Sequence[SSAValue]
) -> None:
    """Tensors that together hold every logical channel of an output once, at the same positions."""
    if not values or len(channels) != len(values):
        raise VerifyException(f"{len(values)} tensors with {len(channels)} lists of channels")
    extents: set[tuple[int, int]] = set()
    for held, value in zip(channels, values, strict=True):
        assert isinstance(value.type, ShapedType)
        rows, columns, width = value.type.get_shape()
        if held.shape != (width,) or held.dtype.kind not in "iu":
            raise VerifyException(f"a tensor of {width} channels lists {held.tensor_type} of them")
        extents.add((rows, columns))
    if len(extents) > 1:
        raise VerifyException("the tensors of an output differ in their rows or columns")
    total = sum(held.size for held in channels)
    if all(held.has_data for held in channels):
        listed = np.sort(np.concatenate([held.array for held in channels]))
        if not np.array_equal(listed, np.arange(total)):
            raise VerifyException(f"the tensors do not hold each of {total} channels once")
    ((rows, columns),) = extents
    if len(shape.shape) != 1 or shape.dtype.kind not in "iu" or (images is None and not shape.size):
        raise VerifyException(f"a shape is a list of integers, not {shape.tensor_type}")
    if (count := output_images(shape, images)) < 1 or rows % count:
        raise VerifyException(f"{rows} rows of {count} images")
    size = int(np.prod(shape.array, dtype=np.int64))
    if size != rows * columns * total:
        raise VerifyException(f"an output of {size} elements has {rows * columns * total} in its tensors")
