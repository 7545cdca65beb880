"""Whether a program finds on its machine the cores and the arrays that it names: of text, nobody else has looked."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ..dialects import pim, spat
from ..dialects.location import place_of
from ..dialects.tile import ArrayAttr
from ..support.diagnostics import TileError
from .target import OTHER_MACHINE, Target, target_of

_SCHEDULE = (("cores", 0, 0), ("sends", 1, 2), ("fetches", 1, 2))

_CORE_COLUMNS: dict[str, tuple[tuple[str, int, int], ...]] = {
    "spat.compute_batch": _SCHEDULE,
    "spat.scheduled_compute_batch": _SCHEDULE,
    "spat.deferred_communication": (("needs", 1, 2),),
    "spat.channel_send": (("messages", 1, 3),),
    "pim.core_batch": _SCHEDULE,
    "pim.load": (("rows", 1, 2),),
    "pim.transfer": (("messages", 1, 3),),
}
"""By the name of an op, the attributes that name cores, and the columns of them that do; 0 to 0 is all of it."""

MOST_NAMED = 4
"""Layers that a message names."""


def require_fitting_machine(module: ModuleOp) -> None:
    """Raises a TileError if an op names a core that the module's machine, if it names one, does not have, or has
    products that its arrays do not hold.

    A verifier of an op cannot know. Everything else takes it for granted, tables by core above all.
    """
    if "tile.machine" not in module.attributes:
        return
    target = target_of(module)
    arrays = np.zeros(target.machine.core_count, np.int64)
    holders: list[tuple[set[int], str]] = []
    for op in module.walk():
        for name, first, stop in _CORE_COLUMNS.get(type(op).name, ()):
            table = op.properties.get(name)
            if isinstance(table, ArrayAttr) and table.has_data:
                target.require_cores(op, table.array if stop == 0 else table.array[:, first:stop])
        if isinstance(op, spat.BatchOp | pim.CoreBatchOp):
            held = _arrays(op, target)
            cores = op.properties.get("cores")
            if held and isinstance(cores, ArrayAttr) and cores.has_data:
                np.add.at(arrays, cores.array, held)
                holders.append((set(cores.array.tolist()), place_of(op)))
    worst = int(arrays.argmax())
    if arrays[worst] > target.machine.arrays_per_core:
        places = [place for cores, place in holders if worst in cores]
        more = f" and {len(places) - MOST_NAMED} more" if len(places) > MOST_NAMED else ""
        named = ", ".join(places[:MOST_NAMED]) + more
        what = f"it holds {arrays[worst]} arrays (of {named}), and a core of {_has(target)}"
        raise TileError(f"core {worst}", what, OTHER_MACHINE)


def _arrays(batch: Operation, target: Target) -> int:
    """Arrays that one replica of the batch takes. A TileError if there are no such."""
    machine, count = target.machine, 0
    for rows, columns in _products(batch):
        if rows > machine.array_rows:
            what = f"a product reads {rows} rows of weights, and an array of machine '{machine.name}' has"
            raise TileError(place_of(batch), f"{what} {machine.array_rows}", OTHER_MACHINE)
        count += -(-columns // target.array_columns)
    if count > machine.arrays_per_core:
        raise TileError(place_of(batch), f"a replica takes {count} arrays, and a core of {_has(target)}", OTHER_MACHINE)
    return count


def _products(batch: Operation) -> Iterator[tuple[int, int]]:
    """Rows and columns of the weights of each product in the batch."""
    for op in batch.walk():
        if isinstance(op, spat.VMMOp):
            yield spat.shape_of(op.vector)[1], spat.shape_of(op.weights)[1]
        elif isinstance(op, pim.IssueOp) and op.matrix is not None:
            yield op.size, pim.shape_of(op.matrix)[1]


def _has(target: Target) -> str:
    return f"machine '{target.machine.name}' has {target.machine.arrays_per_core}"
