"""The weights, constants and index tables of a package as the arrays of ``weights.npz``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..support.arrays import Ints
from ..support.diagnostics import TileError
from .archive import corrupt
from .arrays_file import ArraysReader, ArraysWriter
from .byte_sink import FileSink
from .memory_image import F32, Constant, WeightTable


def write_memory(
    file: FileSink,
    weights: WeightTable,
    constants: Sequence[Constant],
    indexes: Sequence[Ints | None],
) -> None:
    """Writes weights, constants, and the index tables of the inputs and outputs that have one."""
    writer = ArraysWriter(file)
    shapes = np.array([matrix.shape for matrix in weights.matrices], np.int64).reshape(-1, 2)
    writer.add("weight_shapes", shapes)
    writer.add_pieces("weights", np.float32, (int(shapes.prod(axis=1).sum()),), weights.matrices)
    writer.add("weight_of_group", np.array([index for core in weights.of_group for index in core], np.int32))
    spans = np.array([(item.address_bytes, len(item.values)) for item in constants], np.int64).reshape(-1, 2)
    writer.add("constant_spans", spans)
    writer.add_pieces("constants", np.float32, (int(spans[:, 1].sum()),), [item.values for item in constants])
    for number, index in enumerate(indexes):
        if index is not None:
            writer.add(index_name(number), index.reshape(-1))
    writer.close()


def index_name(number: int) -> str:
    """The array that holds the index table of a tensor; inputs are counted first, then outputs."""
    return f"index_{number}"


class MemoryReader:
    """Reads them back."""

    def __init__(self, data: bytes, source: str) -> None:
        self._arrays = ArraysReader(data, source)
        self._source = source

    def weights(self, group_counts: Sequence[int]) -> WeightTable:
        """The weight table of cores with so many groups each."""
        shapes = self._arrays.array("weight_shapes", np.int64, 2)
        of_group = self._arrays.array("weight_of_group", np.int32, 1)
        if shapes.shape[1] != 2 or (shapes < 1).any() or (shapes > 2**31).any():
            raise self._corrupt("a weight matrix has no size")
        if len(of_group) != sum(group_counts) or (of_group < -1).any() or (of_group >= len(shapes)).any():
            raise self._corrupt("weight_of_group does not fit the program's groups")
        values = self._arrays.array("weights", np.float32, 1)
        matrices = self._split(values, shapes.prod(axis=1), "weights")
        shaped = tuple(matrix.reshape(shape) for matrix, shape in zip(matrices, shapes.tolist(), strict=True))
        ends = np.cumsum(group_counts, dtype=np.int64)
        per_core = np.split(of_group, ends[:-1]) if len(group_counts) else []
        return WeightTable(shaped, tuple(tuple(core.tolist()) for core in per_core))

    def constants(self) -> tuple[Constant, ...]:
        """The constants in global memory."""
        spans = self._arrays.array("constant_spans", np.int64, 2)
        if spans.shape[1] != 2 or (spans < 0).any():
            raise self._corrupt("a constant has no address or length")
        values = self._arrays.array("constants", np.float32, 1)
        pieces = self._split(values, spans[:, 1], "constants")
        return tuple(Constant(address, piece) for address, piece in zip(spans[:, 0].tolist(), pieces, strict=True))

    def index(self, number: int, shape: tuple[int, ...]) -> Ints:
        """The index table of one tensor."""
        flat = self._arrays.array(index_name(number), np.int64, 1)
        if len(flat) != int(np.prod(shape, dtype=object)):
            raise self._corrupt(f"{index_name(number)} does not have shape {list(shape)}")
        return flat.reshape(shape)

    def _split(self, values: F32, lengths: Ints, name: str) -> list[F32]:
        ends = np.cumsum(lengths)
        if int(sum(lengths.tolist())) != len(values):
            raise self._corrupt(f"{name} do not have the lengths that the file gives for them")
        return [values[end - length : end] for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)]

    def _corrupt(self, what: str) -> TileError:
        return corrupt(self._source, what)
