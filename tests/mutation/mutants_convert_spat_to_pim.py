"""Mutants of `convert-spat-to-pim`."""

from __future__ import annotations

import numpy as np
from ir_edits import (
    array_of,
    batches_of,
    change_array,
    follow,
    insert_after,
    issues,
    number_of,
    ops_of,
    readers,
    set_array,
    set_number,
)
from mutant_registry import Stage
from mutation_run import Caught
from tilec.dialects import pim
from tilec.dialects.pim import Access, AccessAttr, IssueOp, shape_of
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr

STAGE = Stage("convert-spat-to-pim")


def again(issue: IssueOp) -> IssueOp:
    """The same instruction once more, on what the first one wrote, in its place."""
    assert issue.result is not None
    copy = issue.clone()
    copy.operands = [issue.result if operand is issue.dest else operand for operand in issue.operands]
    insert_after(issue, copy)
    issue.result.replace_uses_with_if(copy.results[0], lambda use: use.operation is not copy)
    return copy


@STAGE.edit("an instruction is selected twice", Caught.GUARD, "vector_count", "instructions")
def instruction_twice(module: ModuleOp) -> None:
    again(issues(module, "vrelu")[0])


@STAGE.edit("a copy into the window is selected twice", Caught.GUARD, "local_copies", "local_copy_bytes")
def copy_twice(module: ModuleOp) -> None:
    again(issues(module, "lmv")[0])


@STAGE.edit("one long instruction becomes one for each column", Caught.GUARD, "vector_count", "instructions")
def column_by_column(module: ModuleOp) -> None:
    issue = issues(module, "vrelu")[0]
    set_number(issue, "length", 8)
    set_number(issue, "repeat", 8)
    issue.properties["accesses"] = ArrayAttr([AccessAttr(Access(step=8))])
    issue.properties["dest_access"] = AccessAttr(Access(step=8))


@STAGE.edit("tiles are filled with zeros before they are written", Caught.GUARD, "instructions")
def tiles_cleared(module: ModuleOp) -> None:
    for empty in ops_of(module, pim.EmptyOp):
        if any(reader.matrix is not None for reader in readers(empty.result) if isinstance(reader, IssueOp)):
            continue
        size = int(np.prod(shape_of(empty.result)))
        follow(empty, IssueOp("lldi", size, 1, [], empty.result, Access(), immediate=0))


@STAGE.edit("a row that several lanes of a core read is loaded for each", Caught.GUARD, "host_to_device_copies")
def load_for_each_lane(module: ModuleOp) -> None:
    for load in ops_of(module, pim.LoadOp):
        change_array(load, "rows", lambda rows: np.repeat(rows, 3, axis=0))


@STAGE.edit("a channel becomes a transfer for each of its ends", Caught.GUARD, "sends", "receives")
def transfer_twice(module: ModuleOp) -> None:
    for transfer in ops_of(module, pim.TransferOp):
        change_array(transfer, "messages", lambda table: np.repeat(table, 2, axis=0))


@STAGE.edit("the batch of another layer's cores is taken", Caught.BOTH, "assignment")
def cores_of_another(module: ModuleOp) -> None:
    _, first, second, *_ = batches_of(module)
    cores = array_of(first, "cores").copy()
    set_array(first, "cores", array_of(second, "cores"))
    set_array(second, "cores", cores)


@STAGE.edit("rows of inputs are loaded one lane later than they could be", Caught.GUARD, "makespan_cycles")
def loads_late(module: ModuleOp) -> None:
    for load in ops_of(module, pim.LoadOp):
        rows = array_of(load, "rows").copy()
        rows[:, 2] = rows[:, 2].min()
        set_array(load, "rows", rows)


@STAGE.edit("the products of two slices are named as one array group", Caught.NUMERICS)
def groups_confused(module: ModuleOp) -> None:
    second = issues(module, "mvmul")[2]
    change_array(second, "groups", np.zeros_like)


@STAGE.edit("the access of a view is taken without its row", Caught.NUMERICS)
def row_of_view_lost(module: ModuleOp) -> None:
    for issue in issues(module, "lmv"):
        flat = [Access(0, one.data.row_step, one.data.start, one.data.step) for one in issue.accesses]
        issue.properties["accesses"] = ArrayAttr([AccessAttr(one) for one in flat])


@STAGE.edit("a maximum is selected for a sum", Caught.NUMERICS)
def wrong_instruction(module: ModuleOp) -> None:
    issues(module, "vvadd")[0].properties["instruction"] = StringAttr("vvmax")


@STAGE.edit("an instruction reads beyond its row", Caught.VERIFIER)
def out_of_bounds(module: ModuleOp) -> None:
    issue = issues(module, "vrelu")[0]
    set_number(issue, "length", number_of(issue, "length") + 1)


@STAGE.edit(
    "a constant is loaded once for each batch that reads it and each of its columns", Caught.GUARD, "host_bytes"
)
def constant_in_full(module: ModuleOp) -> None:
    from tilec.dialects.tile import ArrayAttr as Array

    for constant in ops_of(module, pim.ConstantOp):
        whole = np.ascontiguousarray(np.broadcast_to(constant.value.array, shape_of(constant.result)))
        constant.properties["value"] = Array.get(whole)
