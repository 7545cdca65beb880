"""What every instruction asks of the units, in picoseconds and picojoules, before anything waits for anything.

Times are whole picoseconds, as the simulator keeps them. A unit asks a memory twice at most: before it computes and
after; the network is asked in flits.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from ...analysis.architecture import MatrixConfig, MemoryConfig
from ...analysis.machine import Machine
from ...codegen.isa import ONE_ELEMENT_OPS, OUTPUT_WIDTH_OPS, TWO_VECTOR_OPS, Op
from ...support.arrays import Ints
from ...support.diagnostics import TileError
from .quirks import Quirks
from .stream import CODE_LIMIT, IS_VECTOR, Stream, op_mask

F64 = npt.NDArray[np.float64]

_READ_AT_START = op_mask(Op.MVMUL, Op.ST, Op.SEND, Op.LMV)
_BY_LENGTH = op_mask(Op.LLDI, Op.LMV)
_WRITE_AT_END = op_mask(Op.LD, Op.RECV)
_READS = np.where(op_mask(*TWO_VECTOR_OPS), 2, 1) * IS_VECTOR
_OUTPUT_WIDTH = op_mask(*OUTPUT_WIDTH_OPS)
_ONE_RESULT = op_mask(*ONE_ELEMENT_OPS)


@dataclass(frozen=True, eq=False)
class Costs:
    """Per instruction. Times are of the service alone, without queueing."""

    first_ps: Ints
    """Local memory, asked for at the start (``send``: when the partner is ready)."""
    compute_ps: Ints
    """What the unit computes after that."""
    second_ps: Ints
    """Local memory, asked for at the end."""
    flight_ps: Ints
    """The instruction's own data on the network: of ``send``, ``st``, and the request of ``ld``."""
    global_ps: Ints
    """Global memory."""
    unit_pj: F64
    """Energy of the arrays or the vector unit."""
    first_pj: F64
    """Energy of the memory requests."""
    second_pj: F64
    flight_pj: F64
    global_pj: F64


@dataclass(frozen=True, eq=False)
class FlitTable:
    """The network between the cores of a stream; the last row and column are global memory. Flattened by rows."""

    ps: Ints
    """Time of a message of one flit."""
    pj: F64


def picoseconds(nanoseconds: npt.ArrayLike) -> Ints:
    """Whole picoseconds, rounded half up."""
    return np.asarray(np.floor(np.asarray(nanoseconds) * 1000 + 0.5), np.int64)


def network_ends(stream: Stream, machine: Machine) -> Ints:
    """Per core of the stream its row in the machine's network table, and at last that of global memory."""
    for core in stream.core_ids:
        if core >= machine.core_count:
            raise TileError(
                f"core {core}", f"is not on the machine, which has {machine.core_count} cores", "name its own machine"
            )
    return np.array([*stream.core_ids, machine.core_count], np.int64)


def flit_table(stream: Stream, machine: Machine, quirks: Quirks) -> FlitTable:
    """Time and energy of one flit between every two cores."""
    ends = network_ends(stream, machine)
    latency = machine.network.latency_ns[np.ix_(ends, ends)]
    energy = machine.network.energy_pj[np.ix_(ends, ends)]
    return FlitTable(_flight(latency, quirks).reshape(-1), energy.reshape(-1))


def costs_of(stream: Stream, machine: Machine, quirks: Quirks) -> Costs:
    """The costs of every instruction of a stream; those of scalar instructions, which are most of it, are 0."""
    rows = stream.unit_rows
    found = _unit_costs(stream.units, machine, quirks)
    columns: dict[str, npt.NDArray[Any]] = {}
    for field in fields(Costs):
        values = getattr(found, field.name)
        columns[field.name] = np.zeros(len(stream.op), values.dtype)
        columns[field.name][rows] = values
    return Costs(**columns)


def _unit_costs(stream: Stream, machine: Machine, quirks: Quirks) -> Costs:
    core = machine.architecture.chip_config.core_config
    memory = core.local_memory_config
    op, length, size = stream.op, stream.length, stream.size
    input_bytes, output_bytes = -(-stream.input_bits // 8), -(-stream.output_bits // 8)
    is_vector, is_mvm = IS_VECTOR[op], op == Op.MVMUL
    arrays = arrays_of(stream)

    times = 8 if quirks.eightfold_array_read else 1
    read_bytes = np.where(is_mvm, times * machine.array_rows * input_bytes, length * input_bytes)
    read_bytes = np.where(_BY_LENGTH[op], length, np.where(is_vector | is_mvm, read_bytes, size))
    reads = np.where(_READ_AT_START[op], 1, _READS[op])

    result = np.where(_OUTPUT_WIDTH[op], output_bytes, input_bytes) * length
    if not quirks.full_length_results:
        result = np.where(_ONE_RESULT[op], input_bytes, result)
    columns = core.matrix_config.cell_precision * core.matrix_config.xbar_size[1] // np.maximum(stream.weight_bits, 1)
    write_bytes = np.where(is_mvm, columns * arrays * output_bytes, np.where(is_vector, result, size))
    write_bytes = np.where(_BY_LENGTH[op], length, write_bytes)
    writes = (is_vector | is_mvm | _BY_LENGTH[op] | _WRITE_AT_END[op]).astype(np.int64)

    beats = -(-length // core.vector_width) * is_vector
    unit_ps = 1000 if quirks.vector_time_in_ns else int(picoseconds(core.period))
    passes, product_ps = _products(stream, machine, quirks)

    read_beats, write_beats = _beats(read_bytes, memory) * reads, _beats(write_bytes, memory) * writes
    vector_pj = core.vector_alu_dynamic_energy + 2 * core.vector_reg_read_dynamic_energy
    vector_pj += core.vector_reg_write_dynamic_energy
    array_pj = passes * _pass_pj(core.matrix_config, quirks) * arrays
    global_ps, global_pj = _global(stream, machine)
    flight_ps, flight_pj = _flights(stream, machine, quirks)
    return Costs(
        reads * _service_ps(read_bytes, memory, False),
        beats * core.vector_latency_cycle * unit_ps + product_ps,
        writes * _service_ps(write_bytes, memory, True),
        flight_ps,
        global_ps,
        beats * vector_pj + array_pj,
        np.asarray(read_beats * memory.read_dynamic_energy, np.float64),
        write_beats * memory.write_dynamic_energy,
        flight_pj,
        global_pj,
    )


def arrays_of(stream: Stream) -> Ints:
    """Per instruction, the arrays of the group that it drives; 0 for all but ``mvmul``."""
    first = np.cumsum([0, *(len(groups) for groups in stream.groups)])
    counts = np.array([count for groups in stream.groups for count in groups] or [0], np.int64)
    is_mvm = stream.op == Op.MVMUL
    index = first[stream.core_of_rows()] + stream.group
    return np.where(is_mvm, counts[np.where(is_mvm, index, 0)], 0)


def _products(stream: Stream, machine: Machine, quirks: Quirks) -> tuple[Ints, Ints]:
    """Per instruction, the input passes of a matrix product and its time."""
    matrix = machine.architecture.chip_config.core_config.matrix_config
    passes, time = np.zeros(len(stream.op), np.int64), np.zeros(len(stream.op), np.int64)
    is_mvm = stream.op == Op.MVMUL
    for bits in np.unique(stream.input_bits[is_mvm]).tolist():
        at = is_mvm & (stream.input_bits == bits)
        row_passes = _quotient(matrix.xbar_size[0], matrix.dac_count, quirks)
        passes[at] = _quotient(bits, matrix.dac_resolution, quirks) * row_passes
        time[at] = picoseconds(_product_cycles(matrix, int(passes[at][0]), quirks) * matrix.period)
    return passes, time


def _product_cycles(matrix: MatrixConfig, passes: int, quirks: Quirks) -> int:
    """Cycles of the matrix unit's clock: conversion to analog, arrays and hold, then conversion back, pipelined."""
    settle = int(np.ceil(matrix.xbar_latency / matrix.period))
    front = matrix.dac_latency_cycle + settle + matrix.sample_hold_latency_cycle
    shift = matrix.shift_adder_latency_cycle + matrix.output_buffer_latency_cycle
    conversions = _quotient(matrix.xbar_size[1], matrix.adc_count, quirks)
    back = matrix.adc_latency_cycle + shift + (conversions - 1) * max(matrix.adc_latency_cycle, shift)
    if matrix.pipeline_mode:
        return front + back + (passes - 1) * max(front, back)
    return (front + back) * passes


def _pass_pj(matrix: MatrixConfig, quirks: Quirks) -> float:
    """Energy of one input pass through one array."""
    front = (
        matrix.period * matrix.dac_dynamic_power * matrix.dac_latency_cycle * matrix.dac_count
        + matrix.xbar_read_power * matrix.xbar_latency
        + matrix.period * matrix.sample_hold_dynamic_power * matrix.sample_hold_latency_cycle * matrix.xbar_size[1]
    )
    back = (
        matrix.period * matrix.adc_dynamic_power * matrix.adc_latency_cycle * matrix.adc_count
        + matrix.period * matrix.shift_adder_dynamic_power * matrix.shift_adder_latency_cycle
        + matrix.period * matrix.output_buffer_dynamic_power * matrix.output_buffer_latency_cycle
    )
    return front + _quotient(matrix.xbar_size[1], matrix.adc_count, quirks) * back


def _quotient(dividend: int, divisor: int, quirks: Quirks) -> int:
    return dividend // divisor if quirks.conversions_round_down else -(-dividend // divisor)


def _global(stream: Stream, machine: Machine) -> tuple[Ints, F64]:
    memory = machine.architecture.chip_config.global_memory_config
    is_load, is_store = stream.op == Op.LD, stream.op == Op.ST
    time = is_load * _service_ps(stream.size, memory, False) + is_store * _service_ps(stream.size, memory, True)
    beats = _beats(stream.size, memory)
    return time, beats * (is_load * memory.read_dynamic_energy + is_store * memory.write_dynamic_energy)


def _flights(stream: Stream, machine: Machine, quirks: Quirks) -> tuple[Ints, F64]:
    ends = network_ends(stream, machine)
    target = np.full(CODE_LIMIT, -1)
    target[[Op.LD, Op.ST]] = stream.core_count
    index = np.where(stream.op == Op.SEND, stream.peer, target[stream.op])
    flies = index >= 0
    source, sink = ends[stream.core_of_rows()], ends[np.where(flies, index, 0)]
    size = np.where(stream.op == Op.LD, 1, stream.size)
    flits = np.where(flies, -(-size // machine.bus_width_bytes), 0)
    network = machine.network
    return _flight(flits * network.latency_ns[source, sink], quirks), flits * network.energy_pj[source, sink]


def _flight(nanoseconds: F64, quirks: Quirks) -> Ints:
    return (
        np.trunc(nanoseconds).astype(np.int64) * 1000 if quirks.whole_nanosecond_flights else picoseconds(nanoseconds)
    )


def _beats(size_bytes: Ints, memory: MemoryConfig) -> Ints:
    return -(-size_bytes // memory.data_width)


def _service_ps(size_bytes: Ints, memory: MemoryConfig, write: bool) -> Ints:
    cycles = memory.write_latency_cycle if write else memory.read_latency_cycle
    return picoseconds(_beats(size_bytes, memory) * cycles * memory.period)
