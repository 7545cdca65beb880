"""The registers of cores, instruction by instruction: the loop of :mod:`.registers` that is compiled.

Registers are columns of 32 bits, whose arithmetic wraps as the machine's does.
"""

from __future__ import annotations

from typing import NamedTuple

from ..support.kernel_columns import Numbers
from .isa import Op

SLDI = int(Op.SLDI)
SADD = int(Op.SADD)
SSUB = int(Op.SSUB)
SMUL = int(Op.SMUL)
SADDI = int(Op.SADDI)
SMULI = int(Op.SMULI)


class Facts(NamedTuple):
    """Of the machine."""

    last: int
    """The register with the highest number."""


class Code(NamedTuple):
    """The instructions, core after core."""

    begin: Numbers
    """Where those of each core begin, in order; last, their end."""
    op_u8: Numbers
    rd_u8: Numbers
    rs1_u8: Numbers
    rs2_u8: Numbers
    a_i32: Numbers


class State(NamedTuple):
    """What registers hold: at the moment, and before each instruction."""

    held_i32: Numbers
    rd_i32: Numbers
    rs1_i32: Numbers
    rs2_i32: Numbers
    next_rd_i32: Numbers
    next_rs1_i32: Numbers


def run(facts: Facts, code: Code, state: State, rows: int) -> int:
    """Fills all but `held`, which is changed: a core's registers begin as 0."""
    core = 0
    for row in range(rows):
        while row == code.begin[core]:
            for register in range(facts.last + 1):
                state.held_i32[register] = 0
            core += 1
        rd = code.rd_u8[row]
        rs1 = code.rs1_u8[row]
        first = state.held_i32[rs1]
        second = state.held_i32[code.rs2_u8[row]]
        state.rd_i32[row] = state.held_i32[rd]
        state.rs1_i32[row] = first
        state.rs2_i32[row] = second
        state.next_rd_i32[row] = state.held_i32[min(rd + 1, facts.last)]
        state.next_rs1_i32[row] = state.held_i32[min(rs1 + 1, facts.last)]
        op = code.op_u8[row]
        if op == SLDI:
            state.held_i32[rd] = code.a_i32[row]
        elif op == SADDI:
            state.held_i32[rd] = first + code.a_i32[row]
        elif op == SMULI:
            state.held_i32[rd] = first * code.a_i32[row]
        elif op == SADD:
            state.held_i32[rd] = first + second
        elif op == SSUB:
            state.held_i32[rd] = first - second
        elif op == SMUL:
            state.held_i32[rd] = first * second
    return 0
