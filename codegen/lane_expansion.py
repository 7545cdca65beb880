"""The instructions of the lanes of all batches, of which each is described once and expanded at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..dialects.pim import Access
from ..support.arrays import Ints
from ..support.kernel_columns import as_lists
from ..support.machine_code import Kernel, can_compile
from . import lane_kernel
from .instruction_table import NO_ADDRESS, InstructionTable
from .lane_kernel import OPERANDS, Code, Facts, State, run

WORTH_COMPILING = 2_000
"""Instructions from which on loading the machine code takes less time than it saves; llvmlite is there since
scheduling."""

LANES = Kernel("lane-instructions", (lane_kernel,), lane_kernel)

_COLUMNS = ("core", "place", "op", "dest", "source", "second", "a", "b", "node")
"""Those of a table that the loop fills, in its order."""
_NOTHING = (-1, 0, 0, 0, 0, 0, 0)


class Issue(NamedTuple):
    """What all lanes of a batch issue, each with addresses of its own."""

    opcode: int
    repeats: int
    """Instructions of a lane."""
    per_turn: int
    """Of them, those that follow one another; then others of the lane come between."""
    stride: int
    """Instructions of a lane from the first one of a turn to the first one of the next."""
    slot: int
    """Which of the lane's instructions is the first one."""
    a: int
    b: int
    groups: Ints | None
    """[replicas] what stands in place of ``b``."""
    node: int
    operands: Sequence[tuple[int, Access]]
    """Destination and sources: a buffer, as :meth:`LaneExpansion.buffer` numbers them, and where in it."""


class LaneExpansion:
    """Collects batches."""

    def __init__(self, element_bytes: int) -> None:
        self._bytes = element_bytes
        self._batches: list[tuple[int, int, int, int]] = []
        self._issues: list[tuple[int, ...]] = []
        self._accesses: list[tuple[int, ...]] = []
        self._rows: list[Ints] = []
        self._buffers: list[tuple[int, int]] = []
        """Of each buffer, where its rows begin among all, and how many each lane has."""
        self._row_count = 0
        self._groups: list[int] = []
        self._cores: list[Ints] = []
        self._keys: list[Ints] = []

    def buffer(self, rows: Ints) -> int:
        """The number of a buffer whose rows begin at addresses ``rows`` [lanes, rows]."""
        self._rows.append(rows.reshape(-1))
        self._buffers.append((self._row_count, rows.shape[1]))
        self._row_count += rows.size
        return len(self._buffers) - 1

    def add(self, cores: Ints, replicas: int, keys: Ints, issues: Sequence[Issue]) -> None:
        """A batch whose lanes are on ``cores`` [lanes] and have their instructions at ``keys`` [lanes, k]."""
        self._batches.append((len(cores), replicas, len(issues), keys.shape[1]))
        self._cores.append(cores)
        self._keys.append(keys.reshape(-1))
        for issue in issues:
            groups = -1
            if issue.groups is not None:
                groups = len(self._groups)
                self._groups += issue.groups.tolist()
            self._issues.append((*issue[:7], groups, issue.node))
            for buffer, access in issue.operands:
                self._accesses.append(self._access(buffer, access, issue.repeats))
            self._accesses += [_NOTHING] * (OPERANDS - len(issue.operands))

    def _access(self, buffer: int, access: Access, repeats: int) -> tuple[int, ...]:
        start, step = access.start * self._bytes, access.step * self._bytes
        return (*self._buffers[buffer], access.row, access.row_step, start, step, access.cycle or max(repeats, 1))

    def table(self) -> InstructionTable:
        """The instructions of all lanes; to be asked for once."""
        code = (
            *(np.array(lines, np.int64).reshape(-1) for lines in (self._batches, self._issues, self._accesses)),
            np.concatenate([np.zeros(0, np.int64), *self._rows]),
            np.array(self._groups, np.int64),
            np.concatenate([np.zeros(0, np.int64), *self._cores]),
        )
        key = np.concatenate([np.zeros(0, np.int64), *self._keys])
        self._keys.clear()
        columns = InstructionTable.room(len(key))
        columns["key"] = key
        state = [columns[name] for name in _COLUMNS]
        if len(key) >= WORTH_COMPILING and can_compile():
            LANES.run(Facts(NO_ADDRESS), code, state, len(self._batches))
        else:
            lists = State(*as_lists(state))
            run(Facts(NO_ADDRESS), Code(*as_lists(code)), lists, len(self._batches))
            for column, found in zip(state, lists, strict=True):
                column[:] = found
        return InstructionTable(**columns)
