"""Computes what a module of the `spat` dialect means: lane by lane, in numpy, in the order of the text.

Slow and plain, and independent of every lowering: windows are read row by row from their definition. Communication is
the identity, since it only says where rows are known. Cores and steps have no meaning here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tilec.dialects import spat
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

F32 = NDArray[np.float32]

BINARY = {"spat.vadd": np.add, "spat.vsub": np.subtract, "spat.vmul": np.multiply, "spat.vmax": np.maximum}
UNARY = {
    "spat.relu": lambda x: np.maximum(x, 0),
    "spat.tanh": np.tanh,
    "spat.sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}
REDUCE = {"add": np.sum, "max": np.max}


def interpret(module: ModuleOp, inputs: Mapping[str, NDArray[Any]]) -> dict[str, F32]:
    """The outputs of the network by name."""
    values: dict[SSAValue, F32] = {}
    outputs: dict[str, F32] = {}
    for op in module.walk():
        match op:
            case spat.ConstantOp():
                values[op.result] = op.value.array
            case spat.InputOp():
                values[op.result] = _as_rows(inputs[op.input_name.data], spat.shape_of(op.result))
            case spat.BatchOp():
                values.update(zip(op.outs, _batch(op, values), strict=True))
            case spat.DeferredCommunicationOp() | spat.ChannelReceiveOp():
                values[op.result] = values[op.source]
            case spat.OutputOp():
                outputs[op.output_name.data] = _output(op, values)
            case _:
                pass
    return outputs


def _as_rows(array: NDArray[Any], shape: tuple[int, ...]) -> F32:
    """An image tensor [images, channels, height, columns] as rows, their elements by column, then channel."""
    images, channels, height, columns = (*array.shape, 1, 1)[:4]
    rows = array.reshape(images, channels, height, columns).transpose(0, 2, 3, 1)
    return rows.reshape(shape).astype(np.float32)


def _output(op: spat.OutputOp, values: Mapping[SSAValue, F32]) -> F32:
    shape = op.logical_shape
    total = sum(channels.size for channels in op.channels)
    rows, columns, _ = values[op.values[0]].shape
    images = op.image_count
    logical = np.empty((images, total, rows // images, columns), np.float32)
    for value, channels in zip(op.values, op.channels, strict=True):
        by_image = values[value].reshape(images, rows // images, columns, -1)
        for position, channel in enumerate(channels.array):
            logical[:, channel] = by_image[..., position]
    return logical.reshape(shape)


def _batch(op: spat.BatchOp, values: Mapping[SSAValue, F32]) -> list[F32]:
    lanes = [_lane(op, lane, values) for lane in range(op.lane_count)]
    return [np.stack(rows).astype(np.float32) for rows in zip(*lanes, strict=True)]


def _lane(batch: spat.BatchOp, lane: int, values: Mapping[SSAValue, F32]) -> list[F32]:
    windows = [_window(values[v], w, lane) for v, w in zip(batch.inputs, batch.row_windows, strict=True)]
    weights = [values[value] for value in batch.weights]
    tiles: dict[SSAValue, F32] = dict(zip(batch.block.args, [*windows, *weights], strict=True))
    for op in batch.block.ops:
        if isinstance(op, spat.YieldOp):
            return [tiles[value] for value in op.values]
        tiles[op.results[0]] = _evaluate(op, lane, [tiles[value] for value in op.operands])
    raise AssertionError("a body without a yield")


def _window(value: F32, window: Any, lane: int) -> F32:
    image, y = divmod(lane, window.lanes)
    rows: list[F32] = []
    for k in range(window.rows):
        row = y * window.stride - window.pad_top + k * window.dilation
        if window.edge == "clamp":
            row = min(max(row, 0), window.height - 1)
        inside = 0 <= row < window.height
        content = value[image * window.height + row] if inside else np.zeros_like(value[0])
        rows.append(np.pad(content, ((window.pad_left, window.pad_right), (0, 0))))
    return np.stack(rows)


def _evaluate(op: Operation, lane: int, operands: list[F32]) -> F32:
    match op:
        case spat.ViewOp():
            row, start, step = op.access
            count, length = spat.shape_of(op.result)
            source = operands[0] if operands[0].ndim == 3 else operands[0][None]
            elements = source[row].reshape(-1)
            return np.stack([elements[start + i * step : start + i * step + length] for i in range(count)])
        case spat.GatherOp():
            return np.concatenate(operands, axis=1)
        case spat.VMMOp():
            first = op.row.value.data
            return operands[0] @ operands[1][first : first + operands[0].shape[1]]
        case spat.ElementwiseBinaryOp():
            return BINARY[op.name](*operands)
        case spat.ElementwiseUnaryOp():
            return UNARY[op.name](operands[0])
        case spat.ReduceRowsOp():
            return REDUCE[op.kind.data](operands[0], axis=0)
        case spat.ReduceColumnsOp():
            return REDUCE[op.kind.data](operands[0], axis=0, keepdims=True)
        case spat.ReduceChannelsOp():
            return REDUCE[op.kind.data](operands[0], axis=1, keepdims=True)
        case spat.PadOp():
            left, right, before, after = op.amounts
            return np.pad(np.pad(operands[0], ((left, right), (0, 0)), "edge"), ((0, 0), (before, after)))
        case spat.SpreadOp():
            return np.repeat(operands[0], spat.shape_of(op.result)[1], axis=1)
        case spat.PickOp():
            return operands[0][int(op.table.array[lane])]
        case _:
            raise AssertionError(f"no meaning of {op.name}")
