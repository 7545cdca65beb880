"""The local addresses that the reorder buffer believes an instruction to read and write.

An instruction has up to three ranges: two that it reads and one that it writes. A range is the value of a register
(or 0) plus an offset, and a length; only instructions that some quirk exempts, or that touch no local memory, have
none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...analysis.machine import Machine
from ...codegen.isa import ONE_ELEMENT_OPS, OUTPUT_WIDTH_OPS, TWO_VECTOR_OPS, VECTOR_OPS, Op
from ...support.arrays import Ints
from .costs import arrays_of
from .quirks import Quirks
from .stream import IS_VECTOR, Stream, op_mask

Mask = npt.NDArray[np.bool_]

NO_REGISTER = -1
"""The range begins at its offset alone."""
NO_RANGE = -1
"""A length: there is no range."""

_TRANSFERS = op_mask(Op.LD, Op.ST, Op.LLDI, Op.LMV, Op.SEND, Op.RECV)
_READS = op_mask(Op.MVMUL, *VECTOR_OPS, Op.ST, Op.LMV, Op.SEND)
_BOUNDED = op_mask(Op.VRSU, Op.VRSL)
_WRITES = op_mask(Op.MVMUL, *VECTOR_OPS, Op.LD, Op.LLDI, Op.LMV, Op.RECV)
_OUTPUT_WIDTH = op_mask(*OUTPUT_WIDTH_OPS)
_ONE_RESULT = op_mask(*ONE_ELEMENT_OPS)
_FIXED_RESULT = op_mask(Op.VVDMUL, Op.VAVG, Op.VMV)
"""Their result's address takes no offset."""
_INPUT_WIDTH_RESULT = op_mask(Op.VVADD, Op.VVSUB, Op.VVMAX)
_INPUT_WIDTH_OFFSET = op_mask(Op.VVADD, Op.VVSUB, Op.VVMAX, Op.VRELU)


@dataclass(frozen=True, eq=False)
class Range:
    """Per instruction ``[register + offset, register + offset + length)``."""

    register: Ints
    offset: Ints
    length: Ints


@dataclass(frozen=True, eq=False)
class Ranges:
    """The three ranges of every instruction."""

    read1: Range
    read2: Range
    write: Range


def ranges_of(stream: Stream, machine: Machine, quirks: Quirks) -> Ranges:
    """The ranges of every instruction of a stream. With ``closed_ranges`` their last byte is one further."""
    op, length, size = stream.op, stream.length, stream.size
    is_vector, is_mvm, is_transfer = IS_VECTOR[op], op == Op.MVMUL, _TRANSFERS[op]
    input_bytes, output_bytes = -(-stream.input_bits // 8), -(-stream.output_bits // 8)

    read = np.where(is_mvm, machine.array_rows * input_bytes, np.where(is_vector, length * input_bytes, size))
    matrix = machine.architecture.chip_config.core_config.matrix_config
    columns = matrix.cell_precision * matrix.xbar_size[1] // np.maximum(stream.weight_bits, 1)
    if quirks.wrong_ranges:
        result = np.where(_INPUT_WIDTH_RESULT[op], input_bytes, output_bytes) * np.where(op == Op.VAVG, 1, length)
    else:
        one = _ONE_RESULT[op] & (not quirks.full_length_results)
        result = np.where(_OUTPUT_WIDTH[op], output_bytes, input_bytes) * np.where(one, 1, length)
    write = np.where(is_mvm, columns * arrays_of(stream) * output_bytes, np.where(is_vector, result, size))

    reads, reads2, writes = _READS[op], op_mask(*TWO_VECTOR_OPS)[op], _WRITES[op]
    lost = np.zeros(len(op), np.bool_)
    if quirks.wrong_ranges:
        write = np.where(op == Op.LLDI, 1, write)
        reads, reads2, writes = reads & (op != Op.VMV), reads2 | _BOUNDED[op], writes & (op != Op.VMV)
        lost = op_mask(Op.LD, Op.ST)[op]
    else:
        write = np.where(op == Op.LLDI, length, write)

    selected = stream.offset if quirks.misread_offsets else stream.offset_select
    unit1 = np.where(is_vector & (op != Op.VMV), input_bytes, is_transfer.astype(np.int64))
    unit2 = np.where(is_vector & ~_BOUNDED[op] & ~_FIXED_RESULT[op] | (op == Op.VVDMUL), input_bytes, 0)
    wide = np.where(_INPUT_WIDTH_OFFSET[op], input_bytes, output_bytes)
    unit_rd = np.where(is_vector & ~_FIXED_RESULT[op], wide, is_transfer.astype(np.int64))
    end = 1 if quirks.closed_ranges else 0
    return Ranges(
        _range(np.where(lost, NO_REGISTER, stream.rs1), unit1 * _if_set(stream, selected, 2), read + end, reads),
        _range(stream.rs2, unit2 * _if_set(stream, selected, 4), read + end, reads2),
        _range(
            np.where(lost, NO_REGISTER, stream.rd),
            unit_rd * _if_set(stream, stream.offset_select, 1),
            write + end,
            writes,
        ),
    )


def _if_set(stream: Stream, selected: Ints, bit: int) -> Ints:
    return np.where(selected & bit, stream.offset, 0)


def _range(register: Ints, offset: Ints, length: Ints, exists: Mask) -> Range:
    return Range(register, offset, np.where(exists, length, NO_RANGE))
