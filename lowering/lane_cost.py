"""What one lane of a batch costs on the machine: the cycles of its instructions, and the local memory it works in."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..analysis.timeline import Load
from ..codegen.isa import Op
from ..dialects.pim import IssueOp
from ..dialects.spat import BatchOp, VMMOp, shape_of
from .body_content import body_content
from .instruction_chains import boundaries, cycle_chains
from .spat_to_pim.selection import Selection
from .spat_to_pim.selector import select
from .target import Target
from .transfer_costs import load_costs, repeats

OPCODES = {op.name.lower(): op for op in Op}
"""The opcode of each instruction by its name in a `pim.issue`."""


def instruction_cycles(instruction: str, size: int, written: int, target: Target) -> int:
    """Cycles of one instruction on ``size`` elements that writes ``written``, without those of unused columns."""
    key = instruction, size, written
    found = target.known_cycles.get(key)
    if found is None:
        found = target.known_cycles[key] = _instruction_cycles(instruction, size, written, target)
    return found


def _instruction_cycles(instruction: str, size: int, written: int, target: Target) -> int:
    machine, element_bytes = target.machine, target.element_bytes
    match OPCODES[instruction]:
        case Op.MVMUL:
            return int(machine.mvm_cycles(-(-written // target.array_columns), target.precision))
        case Op.LMV:
            return int(machine.copy_cycles(size * element_bytes))
        case Op.LLDI:
            return int(machine.fill_cycles(size * element_bytes))
        case opcode:
            return int(machine.vector_cycles(opcode, size, target.precision))


def issue_cycles(op: IssueOp, target: Target) -> int:
    """Cycles of all instructions that one lane issues for ``op``."""
    return op.count * instruction_cycles(op.instruction.data, op.size, op.written_size, target)


def selection_cycles(selection: Selection, target: Target) -> int:
    """Cycles of all instructions of a lane."""
    return sum(
        issue.repeat * instruction_cycles(issue.instruction, issue.length, selection.written_size(issue), target)
        for issue in selection.issues
    )


def instruction_begins(selection: Selection, target: Target) -> tuple[int, ...]:
    """At which cycle each of a lane's instructions begins; 0 alone if it has none."""
    found: list[int] = boundaries(
        cycle_chains(
            (
                issue.chained,
                issue.turns,
                issue.repeat,
                instruction_cycles(issue.instruction, issue.length, selection.written_size(issue), target),
            )
            for issue in selection.issues
        )
    ).tolist()
    return tuple(found[:-1] or found)


def batch_arrays(batch: BatchOp, target: Target) -> int:
    """Arrays that one replica of the batch takes."""
    return sum(vmm_arrays(op, target) for op in batch.vmm_ops)


def vmm_arrays(op: VMMOp, target: Target) -> int:
    return -(-shape_of(op.result)[1] // target.array_columns)


@dataclass(frozen=True)
class BatchCost:
    """What a batch takes of the core that it runs on."""

    cycles: int
    """Of one lane, without its communication."""
    arrays: int
    """Of one replica."""
    scratch_bytes: int
    """Of the temporary tiles of a lane: the most that live at one of its instructions."""
    constant_bytes: int
    """Of the constants of a replica."""
    constant_loads: tuple[Load, ...]
    """Of each, until it is whole."""
    begins: tuple[int, ...] = (0,)
    """At which of a lane's cycles its instructions begin."""


class BatchCosts:
    """The costs of batches, each computed once."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._known: dict[BatchOp, BatchCost] = {}

    def of(self, batch: BatchOp) -> BatchCost:
        found = self._known.get(batch)
        if found is None:
            found = self._known[batch] = self._cost(batch)
        return found

    def _cost(self, batch: BatchOp) -> BatchCost:
        target, selection = self.target, select(body_content(batch))
        constants = [
            *((held.columns, held.channels) for held in selection.constants),
            *((1, math.prod(shape_of(batch.weights[pick.argument]))) for pick in selection.picks),
        ]
        return BatchCost(
            max(1, selection_cycles(selection, target)),
            batch_arrays(batch, target),
            target.element_bytes * selection.scratch_elements,
            target.element_bytes * sum(columns * channels for columns, channels in constants),
            tuple(_constant_load(columns, channels, target) for columns, channels in constants),
            instruction_begins(selection, target),
        )


def _constant_load(columns: int, channels: int, target: Target) -> Load:
    """A column of constants is loaded, then repeated."""
    size = channels * target.element_bytes
    cycles, port = load_costs(target.machine, size)
    copies = sum(int(target.machine.copy_cycles(part)) for part in repeats(size, columns * size))
    return Load(cycles + copies, port)
