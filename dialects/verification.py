"""Rules that the ops of the `spat` dialect and their counterparts in the `pim` dialect share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import IntegerAttr, ShapedType
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from ..analysis.window import RowWindow
from .interned import KEPT
from .tile import DTYPES, ArrayAttr, dtype_of

MOST_STEPS = 1 << 40
"""Steps and cycles are less: sums and multiples of them are still numbers of 64 bits."""

MOST_READS = 1 << 26
"""A table of all rows that lanes read fits memory."""

MESSAGE_COLUMNS = ("row", "source", "target", "step")
"""Of a table of messages, `i64[N, 4]`: the row, the core that sends it, the core that receives it, and when."""

_UNSIGNED = {
    dtype: (np.dtype(f"u{dtype.itemsize}"), min(MOST_STEPS, int(np.iinfo(dtype).max) + 1))
    for dtype in DTYPES.values()
    if dtype.kind in "iu"
}
"""For each integer type, the unsigned type of the same size, and what numbers have to be less than."""


def numbers_fit(table: ArrayAttr) -> bool:
    """Whether no number of a schedule is negative, or larger than what can be computed with."""
    data = table.data
    if not data.has_data or not data.array.size:
        return True
    # As unsigned numbers, negative ones are the largest: so one comparison is enough for both limits.
    unsigned, limit = _UNSIGNED[data.dtype]
    return int(np.maximum.reduce(data.array.view(unsigned), axis=None)) < limit


def verify_numbers(what: str, table: ArrayAttr) -> None:
    """Raises a VerifyException unless the numbers fit."""
    if not numbers_fit(table):
        if int(table.array.min()) < 0:
            raise VerifyException(f"{what} is negative")
        raise VerifyException(f"{what} is {int(table.array.max())}, {MOST_STEPS - 1} at most is expected")


def verify_table(table: ArrayAttr, columns: Sequence[str], rows: int) -> None:
    """A table `i64[N, len(columns)]` whose numbers fit, and whose first column names rows of a tensor of ``rows``."""
    if len(table.shape) != 2 or table.shape[1] != len(columns) or table.dtype != np.dtype("<i8"):
        raise VerifyException(f"a table i64[N, {len(columns)}] of {', '.join(columns)} expected")
    if not table.has_data or not table.size:
        return
    if not numbers_fit(table):
        if (negative := (table.array < 0).any(axis=0)).any():
            raise VerifyException(f"a {columns[int(negative.argmax())]} in the table is negative")
        verify_numbers("a number of the table", table)
    if (last := int(table.array[:, 0].max())) >= rows:
        raise VerifyException(f"the table names row {last} of {rows}")


def verify_messages(messages: ArrayAttr, rows: int) -> None:
    """A table of messages, each from one core to another, about a tensor of so many rows."""
    verify_table(messages, MESSAGE_COLUMNS, rows)
    if messages.has_data and (messages.array[:, 1] == messages.array[:, 2]).any():
        raise VerifyException("a message from a core to itself")


def verify_addresses(table: ArrayAttr | None, columns: Sequence[str], keys: int = 1) -> None:
    """A table that `pim-plan-memory` adds has these columns; its lines are in order of the first ``keys`` of them, each
    once, since what stands there twice would be written or loaded twice."""
    if table is None:
        return
    if table.shape[1:] != (len(columns),) or table.dtype.kind not in "iu":
        raise VerifyException(f"a table of {', '.join(columns)} expected, not {table.tensor_type}")
    if table.has_data and len(table.array) > 1:
        later = table.array[1:, 0] > table.array[:-1, 0]
        for key in range(1, keys):
            same = (table.array[1:, :key] == table.array[:-1, :key]).all(axis=1)
            later |= same & (table.array[1:, key] > table.array[:-1, key])
        if not later.all():
            raise VerifyException(f"the table is not in order of {' and '.join(columns[:keys])}, each once")


def verify_schedule(cores: ArrayAttr, replicas: int, steps: ArrayAttr, lanes: int) -> None:
    """A core for each replica and a step for each lane."""
    for name, table, count, owner in (("core", cores, replicas, "replicas"), ("step", steps, lanes, "lanes")):
        if table.shape != (count,) or table.dtype.kind not in "iu":
            raise VerifyException(f"{name}s are {table.tensor_type}, an integer for each of {count} {owner} expected")
        verify_numbers(f"a {name}", table)


def lane_spans(spans: ArrayAttr | None, lanes: int) -> NDArray[np.int64]:
    """The steps that each lane extends over; 1 if nothing is said."""
    return np.ones(lanes, np.int64) if spans is None else spans.array.astype(np.int64)


def verify_spans(spans: ArrayAttr | None, lanes: int) -> None:
    """Every lane extends over at least one step."""
    if spans is None:
        return
    if spans.shape != (lanes,) or spans.dtype.kind not in "iu":
        raise VerifyException(f"spans are {spans.tensor_type}, an integer for each of {lanes} lanes expected")
    if spans.has_data and int(spans.array.min()) < 1:
        raise VerifyException("a lane extends over less than one step")
    verify_numbers("a span", spans)


def _verify_lines(name: str, lines: ArrayAttr, columns: str) -> None:
    """A table of three ``columns``, whose numbers fit."""
    if len(lines.shape) != 2 or lines.shape[1] != 3 or lines.dtype.kind not in "iu":
        raise VerifyException(f"{name} are {lines.tensor_type}, lines of {columns} expected")
    verify_numbers(f"a number of {name}", lines)


def verify_resumes(resumes: ArrayAttr | None, spans: ArrayAttr | None, lanes: int) -> None:
    """Lines of a lane, its cycles that are done, and a step within its span, in this order."""
    if resumes is None:
        return
    _verify_lines("resumes", resumes, "a lane, a cycle and a step")
    if not resumes.has_data or not resumes.size:
        return
    lane, cycle, step = resumes.array.astype(np.int64).T
    if int(lane.max()) >= lanes:
        raise VerifyException(f"resumes name lane {int(lane.max())} of {lanes}")
    if (step >= lane_spans(spans, lanes)[lane]).any():
        raise VerifyException("a lane resumes behind the end of its span")
    same = lane[1:] == lane[:-1]
    if (lane[1:] < lane[:-1]).any() or (same & ((cycle[1:] < cycle[:-1]) | (step[1:] < step[:-1]))).any():
        raise VerifyException("resumes are not in order of lanes, cycles and steps")


def verify_sends(sends: ArrayAttr | None, lanes: int) -> None:
    """Lines of a row, a core and a step."""
    if sends is None:
        return
    _verify_lines("sends", sends, "a row, a core and a step")
    if sends.has_data and sends.size and (row := int(sends.array[:, 0].max())) >= lanes:
        raise VerifyException(f"sends name row {row} of {lanes}")


def verify_fetches(fetches: ArrayAttr | None) -> None:
    """Lines of a constant, a core and a step, each constant once for each core."""
    if fetches is None:
        return
    _verify_lines("fetches", fetches, "a constant, a core and a step")
    if not fetches.has_data or not fetches.size:
        return
    constant, core, _ = fetches.array.T.tolist()
    if len(set(zip(constant, core, strict=True))) < len(constant):
        raise VerifyException("fetches name a constant twice for a core")


@lru_cache(KEPT)
def verify_window(window: RowWindow, rows: int, lanes: int) -> None:
    """The window has a meaning, for an operand of so many rows in a batch of so many lanes."""
    if problems := window.problems():
        raise VerifyException("; ".join(problems))
    if window.rows * lanes > MOST_READS:
        raise VerifyException(f"{lanes} lanes read {window.rows} rows each, {MOST_READS} in all at most expected")
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
        raise VerifyException(f"{element} is not an element type of a network's input or output")


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
