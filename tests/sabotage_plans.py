"""What sabotages do to the plan of local memory, after `pim-plan-memory`, and their innocent twins."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from ir_edits import array_of, change_array, ops_of, set_array, set_number
from numpy.typing import NDArray
from tilec.dialects import pim
from tilec.lowering.event_order import PHASES
from tilec.lowering.target import target_of
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

Ints = NDArray[np.int64]


def program_of(module: ModuleOp) -> pim.ProgramOp:
    (program,) = ops_of(module, pim.ProgramOp)
    return program


def addresses(module: ModuleOp) -> Iterator[tuple[Operation, str, int]]:
    """Every table of addresses, whose first column is a core, and the column that is an address."""
    for rows in ops_of(module, pim.RowsOp):
        yield rows, "instances", 2
        yield rows, "rings", 1
    for constant in ops_of(module, pim.ConstantRowsOp):
        yield constant, "instances", 1
    for alloc in ops_of(module, pim.AllocOp):
        yield alloc, "addresses", 1
    yield program_of(module), "zeros", 1


def shift(module: ModuleOp, cores: list[int], by: int) -> None:
    """Moves everything in the memories of these cores; the peaks stay as they are."""
    for op, name, column in addresses(module):
        table = array_of(op, name).copy()
        table[np.isin(table[:, 0], cores), column] += by
        set_array(op, name, table)


def put_off(module: ModuleOp, steps: int) -> None:
    """What is said of times in a plan, if there is one."""
    for rows in ops_of(module, pim.RowsOp):
        if rows.rings is not None:
            change_array(rows, "rings", lambda table: table + np.array([0, 0, 0, steps * PHASES]))
    for constant in ops_of(module, pim.ConstantRowsOp):
        if constant.instances is not None:
            change_array(constant, "instances", lambda table: table + np.array([0, 0, steps]))


def on_top(module: ModuleOp, core: int, size: int) -> int:
    """An address where nothing is on this core, for so many bytes; the peak rises by them."""
    program = program_of(module)
    peaks = array_of(program, "peak_bytes").copy()
    address = int(peaks[core])
    peaks[core] += size
    set_array(program, "peak_bytes", peaks)
    return address


# What is written twice


def rings_twenty_times(module: ModuleOp) -> None:
    for rows in ops_of(module, pim.RowsOp):
        change_array(rows, "rings", lambda table: np.repeat(table, 20, axis=0))


def zeros_fifty_times(module: ModuleOp) -> None:
    change_array(program_of(module), "zeros", lambda table: np.repeat(table, 50, axis=0))


def constants_twice(module: ModuleOp) -> None:
    for constant in ops_of(module, pim.ConstantRowsOp):
        change_array(constant, "instances", lambda table: np.repeat(table, 2, axis=0))


def tiles_twice(module: ModuleOp) -> None:
    for alloc in ops_of(module, pim.AllocOp):
        change_array(alloc, "addresses", lambda table: np.repeat(table, 2, axis=0))


def rows_twice(module: ModuleOp) -> None:
    for rows in ops_of(module, pim.RowsOp):
        change_array(rows, "instances", lambda table: np.repeat(table, 2, axis=0))


# More than need be


def longer_rows_of_zeros(module: ModuleOp) -> None:
    """Twice as long, on a core with room for it."""
    program = program_of(module)
    (core, _, size), *_ = array_of(program, "zeros")[-1:].tolist()
    at = on_top(module, core, 2 * size)
    change_array(program, "zeros", lambda table: np.vstack((table[:-1], [[core, at, 2 * size]])))


def deeper_ring(module: ModuleOp) -> None:
    """A ring with columns of zeros gets a slot that no row is ever in, on the core that has most room."""
    core = int(array_of(program_of(module), "peak_bytes").argmin())
    rows = next(op for op in ops_of(module, pim.RowsOp) if any(op.pads) and core in array_of(op, "rings")[:, 0])
    ring = array_of(rows, "rings").copy()
    (line,) = np.flatnonzero(ring[:, 0] == core)
    _, columns, channels = pim.shape_of(rows.result)
    slot = (sum(rows.pads) + columns) * channels + rows.slack.value.data
    old, size = int(ring[line, 1]), int(ring[line, 2])
    new = on_top(module, core, size + slot)
    ring[line, 1:3] = new, size + slot
    set_array(rows, "rings", ring)
    places = array_of(rows, "instances").copy()
    inside = (places[:, 0] == core) & (places[:, 2] >= old) & (places[:, 2] < old + size)
    places[inside, 2] += new - old
    set_array(rows, "instances", places)


# What is not so


def half_peak(module: ModuleOp) -> None:
    change_array(program_of(module), "peak_bytes", lambda peaks: peaks // 2)


def addresses_up(module: ModuleOp) -> None:
    shift(module, list(range(4)), 64)


def tile_without_address(module: ModuleOp) -> None:
    del ops_of(module, pim.AllocOp)[0].properties["addresses"]


def rows_without_address(module: ModuleOp) -> None:
    rows = ops_of(module, pim.RowsOp)[0]
    change_array(rows, "instances", lambda table: table[1:])


def more_slack(module: ModuleOp) -> None:
    for op in ops_of(module, pim.RowsOp, pim.AllocOp):
        set_number(op, "slack", op.slack.value.data + 500)


def late_constants(module: ModuleOp) -> None:
    """Constants are loaded when the first lane reads them, though their loads are planned before that."""
    for constant in ops_of(module, pim.ConstantRowsOp):
        readers = [use.operation for use in constant.result.uses]
        table = array_of(constant, "instances").copy()
        for line in table:
            first = [
                int(op.steps.array[op.lane_cores == line[0]].min(initial=1 << 40))
                for op in readers
                if isinstance(op, pim.CoreBatchOp)
            ]
            assert line[2] <= min(first)
            line[2] = min(first)
        set_array(constant, "instances", table)


def constants_first_of_all(module: ModuleOp) -> None:
    """Constants are loaded at step 0, where something else may be still."""
    for constant in ops_of(module, pim.ConstantRowsOp):
        change_array(constant, "instances", lambda table: table * np.array([1, 1, 0]))


def constant_on_a_row(module: ModuleOp) -> None:
    """A constant where the rows of a ring are."""
    (constant, *_) = ops_of(module, pim.ConstantRowsOp)
    table = array_of(constant, "instances").copy()
    core = int(table[0, 0])
    table[0, 1] = next(
        line[1] for op in ops_of(module, pim.RowsOp) for line in array_of(op, "rings").tolist() if line[0] == core
    )
    set_array(constant, "instances", table)


def moved_where_there_is_room(module: ModuleOp) -> None:
    """All that the emptiest core has moves up, up to the peak of the fullest one."""
    program = program_of(module)
    peaks = array_of(program, "peak_bytes").copy()
    core, room = int(peaks.argmin()), int(peaks.max() - peaks.min())
    assert room > 0
    shift(module, [core], room)
    peaks[core] += room
    set_array(program, "peak_bytes", peaks)


def zeros_elsewhere(module: ModuleOp) -> None:
    """The row of zeros of a core that is not the fullest stands behind all else."""
    program = program_of(module)
    (core, _, size), *_ = array_of(program, "zeros")[-1:].tolist()
    at = on_top(module, core, size)
    change_array(program, "zeros", lambda table: np.vstack((table[:-1], [[core, at, size]])))


# What does no harm


def upside_down(module: ModuleOp) -> None:
    """Each core's memory in the opposite order: what was at its bottom is right below its peak."""
    peaks = array_of(program_of(module), "peak_bytes").astype(np.int64)
    size_of = target_of(module).element_bytes
    for rows in ops_of(module, pim.RowsOp):
        _, columns, channels = pim.shape_of(rows.result)
        slot = size_of * ((sum(rows.pads) + columns) * channels + rows.slack.value.data)
        rings, places = array_of(rows, "rings").copy(), array_of(rows, "instances").copy()
        core, address = places[:, 0], places[:, 2]
        new = peaks[core] - address - slot
        for ring in rings:
            home, base, size, _ = ring.tolist()
            inside = (core == home) & (base <= address) & (address < base + size)
            ring[1] = peaks[home] - base - size
            new[inside] = address[inside] + ring[1] - base
        places[:, 2] = new
        set_array(rows, "rings", rings)
        set_array(rows, "instances", places)
    for op, name in [(op, "instances") for op in ops_of(module, pim.ConstantRowsOp)] + [
        (op, "addresses") for op in ops_of(module, pim.AllocOp)
    ]:
        slack = op.slack.value.data if isinstance(op, pim.AllocOp) else 0
        size = size_of * (math.prod(pim.shape_of(op.results[0])) + slack)
        table = array_of(op, name).copy()
        table[:, 1] = peaks[table[:, 0]] - table[:, 1] - size
        set_array(op, name, table)
    zeros = array_of(program_of(module), "zeros").copy()
    zeros[:, 1] = peaks[zeros[:, 0]] - zeros[:, 1] - zeros[:, 2]
    set_array(program_of(module), "zeros", zeros)
