"""Where inputs, outputs and constants stand in global memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from xdsl.ir import Attribute, SSAValue

from ..dialects import pim
from ..dialects.tile import ArrayAttr, dtype_of
from .memory_image import Constant, GlobalMemory, TensorLayout

ALIGNMENT = 64
"""Bytes; a whole number of beats of any memory we know of."""


@dataclass
class GlobalLayout:
    """Addresses in bytes. Inputs come first, then outputs, then constants, each in the order of the program."""

    element_bytes: int
    tensors: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """Of the network's inputs."""
    outputs: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    """Of the tensors of each output."""
    constants: dict[ArrayAttr, int] = field(default_factory=dict[ArrayAttr, int])
    """By content: equal constants share their place."""
    size_bytes: int = 0

    @classmethod
    def of(cls, program: pim.ProgramOp, element_bytes: int) -> GlobalLayout:
        layout = cls(element_bytes)
        ops = list(program.body.block.ops)
        for op in ops:
            if isinstance(op, pim.InputOp):
                layout.tensors[op.result] = layout._take(_size(op.result))
        for op in ops:
            if isinstance(op, pim.OutputOp):
                layout.outputs[op.output_name.data] = [layout._take(_size(value)) for value in op.values]
        for op in ops:
            if isinstance(op, pim.ConstantOp) and op.value not in layout.constants:
                layout.constants[op.value] = layout._take(stored_elements(op.value))
        return layout

    def memory(self) -> GlobalMemory:
        """The first content of global memory."""
        constants = tuple(
            Constant(address, value.array.reshape(-1)[: stored_elements(value)].astype(np.float32))
            for value, address in self.constants.items()
        )
        return GlobalMemory(self.size_bytes, constants)

    def input_layouts(self, program: pim.ProgramOp) -> Iterator[TensorLayout]:
        for op in program.body.block.ops:
            if isinstance(op, pim.InputOp):
                shape = tuple(map(int, op.shape.array))
                _, columns, channels = pim.shape_of(op.result)
                strides = _strides(shape, columns, channels)
                yield TensorLayout(op.input_name.data, shape, self.tensors[op.result], strides, _dtype(op.element))

    def output_layouts(self, program: pim.ProgramOp) -> Iterator[TensorLayout]:
        for op in program.body.block.ops:
            if isinstance(op, pim.OutputOp):
                yield self._output_layout(op)

    def _output_layout(self, op: pim.OutputOp) -> TensorLayout:
        shape = tuple(map(int, op.shape.array))
        name = op.output_name.data
        addresses = self.outputs[name]
        rows, columns, _ = pim.shape_of(op.values[0])
        total = sum(channels.size for channels in op.channels)
        images = op.image_count
        height = rows // images
        index = np.empty((images, total, height, columns), np.int64)
        for value, channels, address in zip(op.values, op.channels, addresses, strict=True):
            width = pim.shape_of(value)[2]
            start = (address - addresses[0]) // self.element_bytes
            places = start + np.arange(rows * columns * width).reshape(images, height, columns, width)
            index[:, channels.array] = places.transpose(0, 3, 1, 2)
        return TensorLayout(name, shape, addresses[0], dtype=_dtype(op.element), index=index.reshape(shape))

    def _take(self, elements: int) -> int:
        address = self.size_bytes
        self.size_bytes = -(-(address + elements * self.element_bytes) // ALIGNMENT) * ALIGNMENT
        return address


def stored_elements(value: ArrayAttr) -> int:
    """Elements of a constant that stand in global memory: a constant that repeats one number is repeated by copies."""
    elements = value.array.reshape(-1)
    return min(len(elements), ALIGNMENT) if (elements == elements[:1]).all() else len(elements)


def _dtype(element: Attribute | None) -> str:
    """numpy's name of an input's or output's element type."""
    dtype = np.dtype(np.float32) if element is None else dtype_of(element)
    assert dtype is not None, "the verifier lets only types of numbers pass"
    return dtype.name


def _size(value: SSAValue) -> int:
    return int(np.prod(pim.shape_of(value), dtype=np.int64))


def _strides(shape: tuple[int, ...], columns: int, channels: int) -> tuple[int, ...]:
    """Of a tensor (images, channels[, height, columns]) that stands row by row, channels innermost."""
    if len(shape) == 2:
        return channels, 1
    return shape[2] * columns * channels, 1, columns * channels, channels


def address_words(address: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The high and the low 32-bit word of global addresses, the low one as a signed number."""
    low = address & 0xFFFFFFFF
    return address >> 32, np.where(low >= 1 << 31, low - (1 << 32), low)
