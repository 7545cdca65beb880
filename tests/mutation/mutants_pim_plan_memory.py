"""Mutants of `pim-plan-memory`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from ir_edits import array_of, batches_of, change_array, insert_before, issues, ops_of, set_array
from mutant_registry import Stage
from mutation_run import Caught
from numpy.typing import NDArray
from tilec.analysis.buffers import Buffers
from tilec.dialects import pim
from tilec.dialects.pim import AllocOp
from tilec.dialects.tile import ArrayAttr
from xdsl.dialects.builtin import ModuleOp

STAGE = Stage("pim-plan-memory")
BUILD = "tilec.lowering.memory_planning.Buffers.build"
INSTANCES = "tilec.lowering.memory_planning.instances_of_all"
Build = Callable[..., Buffers]


@STAGE.patch(
    BUILD,
    "buffers live from the first event to the last",
    Caught.NEITHER,
    program="tall",
    why="rings of rows live nearly as long as the program here, so that little more memory is taken",
)
def live_for_ever(build: Build) -> Build:
    def wrong(sizes: Any, first: Any, last: Any, alignment: int) -> Buffers:
        return (
            build(sizes, [min(first)] * len(first), [max(last)] * len(last), alignment)
            if first
            else build(sizes, first, last, alignment)
        )

    return wrong


@STAGE.patch(
    BUILD,
    "sizes are in elements of four bytes on a machine with one-byte elements",
    Caught.GUARD,
    "core_bytes_max",
    program="tall",
)
def four_byte_elements(build: Build) -> Build:
    return lambda sizes, first, last, alignment: build([4 * size for size in sizes], first, last, alignment)


@STAGE.patch(BUILD, "buffers are aligned to pages", Caught.GUARD, "core_bytes_max", program="tall")
def aligned_to_pages(build: Build) -> Build:
    return lambda sizes, first, last, alignment: build(
        [-(-size // 1024) * 1024 for size in sizes], first, last, alignment
    )


@STAGE.patch(
    INSTANCES,
    "rows are held until their tensor is read for the last time",
    Caught.GUARD,
    "core_bytes_max",
    program="tall",
)
def rows_kept(right: Callable[..., Any]) -> Callable[..., Any]:
    def wrong(ops: Any, lanes: Any) -> Any:
        all_found = right(ops, lanes)
        for found in all_found:
            found.last[:] = found.last.max(initial=0)
        return all_found

    return wrong


@STAGE.patch(INSTANCES, "a ring is as deep as its tensor is high", Caught.GUARD, "core_bytes_max", program="tall")
def whole_tensors(right: Callable[..., Any]) -> Callable[..., Any]:
    def wrong(ops: Any, lanes: Any) -> Any:
        all_found = right(ops, lanes)
        for found in all_found:
            for core in np.unique(found.core):
                mine = found.core == core
                found.last[mine] = np.maximum(found.last[mine], found.first[mine].max())
        return all_found

    return wrong


@STAGE.edit(
    "the plan is made for the largest machine, with holes for its other cores",
    Caught.GUARD,
    "core_bytes_max",
    program="tall",
)
def moved_up(module: ModuleOp) -> None:
    shift(module, 8192)


def shift(module: ModuleOp, by: int) -> None:
    """Moves everything in all local memories."""
    (program,) = ops_of(module, pim.ProgramOp)

    def moved(column: int) -> Callable[[NDArray[np.int64]], NDArray[np.int64]]:
        def move(table: NDArray[np.int64]) -> NDArray[np.int64]:
            table = table.copy()
            table[:, column] += by
            return table

        return move

    for rows in ops_of(module, pim.RowsOp):
        change_array(rows, "instances", moved(2))
        change_array(rows, "rings", moved(1))
    for constant in ops_of(module, pim.ConstantRowsOp):
        change_array(constant, "instances", moved(1))
    for alloc in ops_of(module, AllocOp):
        change_array(alloc, "addresses", moved(1))
    if program.zeros is not None:
        change_array(program, "zeros", moved(1))
    peak = array_of(program, "peak_bytes")
    set_array(program, "peak_bytes", np.where(peak > 0, peak + by, 0))


@STAGE.edit("an instruction is added that clears a tile before its first use", Caught.GUARD, "instructions")
def tile_cleared(module: ModuleOp) -> None:
    product = issues(module, "mvmul")[0]
    insert_before(product, pim.IssueOp("lldi", 64, 1, [], product.dest, pim.Access(), immediate=0))


@STAGE.edit("lanes move to a later step so that rings need fewer slots", Caught.BOTH, "order")
def lanes_put_off(module: ModuleOp) -> None:
    change_array(batches_of(module)[-1], "steps", lambda steps: steps + 20_000)


@STAGE.edit("rings have one slot", Caught.BOTH, "plan_faults")
def ring_of_one(module: ModuleOp) -> None:
    for rows in ops_of(module, pim.RowsOp):
        table = array_of(rows, "instances").copy()
        for core in np.unique(table[:, 0]):
            mine = table[:, 0] == core
            table[mine, 2] = table[mine, 2].min()
        set_array(rows, "instances", table)


@STAGE.edit("tiles of a frame share one address", Caught.BOTH, "plan_faults")
def tiles_overlap(module: ModuleOp) -> None:
    allocs = [op for op in batches_of(module)[2].block.ops if isinstance(op, AllocOp)]
    for alloc in allocs[1:]:
        set_array(alloc, "addresses", array_of(allocs[0], "addresses"))


@STAGE.edit("constants are taken for dead after the first lane", Caught.BOTH, "plan_faults")
def constants_overwritten(module: ModuleOp) -> None:
    (constant,) = ops_of(module, pim.ConstantRowsOp)
    (rows, *_) = [op for op in ops_of(module, pim.RowsOp) if op.result.uses.get_length() > 2]
    ring = array_of(rows, "rings")
    table = array_of(constant, "instances").copy()
    for line in table:
        line[1] = ring[ring[:, 0] == line[0]][0, 1]
    set_array(constant, "instances", table)


@STAGE.edit("addresses of tiles are written without their core", Caught.VERIFIER)
def table_without_cores(module: ModuleOp) -> None:
    (alloc, *_) = ops_of(module, AllocOp)
    alloc.properties["addresses"] = ArrayAttr.get(np.ascontiguousarray(array_of(alloc, "addresses")[:, 1:]))
