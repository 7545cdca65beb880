"""Mutants of `pim-bufferize`."""

from __future__ import annotations

from typing import Any

import numpy as np
from ir_edits import batches_of, change_array, erase, insert_after, insert_before, issues, ops_of, set_number
from mutant_registry import Stage
from mutation_run import Caught
from tilec.dialects import pim
from tilec.dialects.pim import Access, AllocOp, IssueOp, shape_of
from xdsl.dialects.builtin import ModuleOp, StringAttr

STAGE = Stage("pim-bufferize")


def copied(value: Any, dest: Any) -> IssueOp:
    columns, channels = shape_of(dest)[-2:]
    return IssueOp("lmv", columns * channels, 1, [(value, Access())], dest, Access())


def write_elsewhere(issue: IssueOp) -> None:
    """Lets an instruction write to a tile of its own, from where a copy moves the result to its place."""
    dest = issue.dest
    fresh = insert_before(issue, AllocOp(shape_of(dest))).result
    issue.operands = [*list(issue.operands)[:-1], fresh]
    insert_after(issue, copied(fresh, dest))


@STAGE.edit("no instruction writes in place: each result is copied to where it belongs", Caught.GUARD, "local_copies")
def never_in_place(module: ModuleOp) -> None:
    for issue in issues(module, "vrelu"):
        write_elsewhere(issue)


@STAGE.edit("rows that batches yield are formed beside their place, and copied there", Caught.GUARD, "local_copies")
def rows_copied(module: ModuleOp) -> None:
    for batch in batches_of(module):
        assert isinstance(batch, pim.CoreBatchOp)
        (out,) = batch.out_arguments
        fresh = insert_before(batch.block.first_op, AllocOp(shape_of(out))).result  # pyright: ignore
        out.replace_all_uses_with(fresh)
        insert_before(batch.block.last_op, copied(fresh, out))  # pyright: ignore


@STAGE.edit("a destination that is read later is copied there and back", Caught.GUARD, "local_copies")
def there_and_back(module: ModuleOp) -> None:
    (relu,) = issues(module, "vrelu")
    fresh = insert_before(relu, AllocOp(shape_of(relu.dest))).result
    insert_after(relu, copied(relu.dest, fresh), copied(fresh, relu.dest))


@STAGE.edit("a copy is added, and the instruction that it is for issued again", Caught.GUARD, "vector_count")
def copy_and_again(module: ModuleOp) -> None:
    (relu,) = issues(module, "vrelu")
    insert_after(relu, relu.clone())
    write_elsewhere(relu)


@STAGE.edit(
    "rows get as many columns of zeros beside them as the widest of all windows wants, twice",
    Caught.GUARD,
    "buffer_bytes",
)
def pads_doubled(module: ModuleOp) -> None:
    for rows in ops_of(module, pim.RowsOp):
        set_number(rows, "pad_left", 4)
        set_number(rows, "pad_right", 4)


@STAGE.edit("each tile gets the slack of an array, whoever writes it", Caught.GUARD, "buffer_bytes")
def slack_for_all(module: ModuleOp) -> None:
    for alloc in ops_of(module, AllocOp):
        set_number(alloc, "slack", 128)


@STAGE.edit("every instruction of a body gets a tile of its own", Caught.GUARD, "buffer_bytes", program="mixed")
def tile_for_each(module: ModuleOp) -> None:
    for issue in issues(module):
        insert_before(issue, AllocOp(shape_of(issue.dest)))


@STAGE.edit("a transfer of buffers is written for its source and for its result", Caught.GUARD, "sends")
def transfer_twice(module: ModuleOp) -> None:
    for transfer in ops_of(module, pim.TransferOp):
        insert_after(transfer, transfer.clone())


@STAGE.edit("lanes keep their step and lose their core", Caught.BOTH, "assignment")
def cores_reset(module: ModuleOp) -> None:
    change_array(batches_of(module)[1], "cores", np.zeros_like)


@STAGE.edit("two tiles that live at the same time are one", Caught.NUMERICS)
def tiles_confused(module: ModuleOp) -> None:
    first, second = issues(module, "mvmul")[1:3]
    old = second.dest.owner
    second.dest.replace_all_uses_with(first.dest)
    assert isinstance(old, AllocOp)
    erase(old)


@STAGE.edit("a tile is cleared while an instruction has still to read it", Caught.BOTH, "instructions")
def overwritten(module: ModuleOp) -> None:
    window, product = issues(module, "lmv")[1], issues(module, "mvmul")[0]
    assert window.dest is product.sources[0]
    insert_before(product, IssueOp("lldi", 40, 1, [], window.dest, Access(), immediate=0))


@STAGE.edit("the access of a destination is lost", Caught.NUMERICS)
def access_lost(module: ModuleOp) -> None:
    for issue in issues(module, "lmv"):
        issue.properties["dest_access"] = pim.AccessAttr(Access())


@STAGE.edit("an instruction on buffers is given a name that it has on tensors", Caught.VERIFIER)
def unknown_instruction(module: ModuleOp) -> None:
    issues(module, "vrelu")[0].properties["instruction"] = StringAttr("relu")
