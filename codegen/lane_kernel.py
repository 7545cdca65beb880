"""The instructions of the lanes of all batches: the loop of :mod:`.lane_expansion`, interpreted or compiled."""

from __future__ import annotations

from typing import NamedTuple

from ..support.kernel_columns import Numbers

ISSUE_WIDTH = 9
OPCODE = 0
COUNT = 1
"""Of its instructions in a lane."""
TURN = 2
"""How many of them follow one another."""
STRIDE = 3
"""Instructions of a lane from one such turn to the next."""
SLOT = 4
"""Which of the lane's instructions its first one is."""
SIZE = 5
ARGUMENT = 6
"""An immediate."""
GROUPS = 7
"""Where the array group of each replica begins, which comes to the immediate; or -1."""
NODE = 8

OPERANDS = 3
ACCESS_WIDTH = 7
BUFFER = 0
"""Where the addresses of the buffer's rows begin; or -1 for no operand."""
ROWS = 1
"""Of the buffer, in each lane."""
ROW = 2
ROW_STEP = 3
START = 4
"""Bytes."""
STEP = 5
CYCLE = 6
"""After how many repeats rows and bytes begin again."""

BATCH_WIDTH = 4
LANES = 0
REPLICAS = 1
ISSUES = 2
LENGTH = 3
"""Instructions of a lane."""


class Facts(NamedTuple):
    """What stands for an operand that an instruction does not have."""

    nowhere: int


class Code(NamedTuple):
    """Batches one after another."""

    batch: Numbers
    """[batches, BATCH_WIDTH]"""
    issue: Numbers
    """[issues, ISSUE_WIDTH] of each batch in turn."""
    access: Numbers
    """[issues, OPERANDS, ACCESS_WIDTH]: destination, source, second source."""
    row: Numbers
    """Addresses of rows: of each buffer, lane after lane."""
    group: Numbers
    """Numbers of array groups."""
    lane_core: Numbers
    """Of each lane of all batches."""


class State(NamedTuple):
    """A column of an instruction table each, but for the keys."""

    core_i32: Numbers
    place_i32: Numbers
    op_u8: Numbers
    dest: Numbers
    source: Numbers
    second_i32: Numbers
    a_i32: Numbers
    b_i32: Numbers
    node_i32: Numbers


def run(facts: Facts, code: Code, state: State, batches: int) -> int:
    """Fills all columns, lane after lane; the number of instructions."""
    first = 0
    issue = 0
    lane = 0
    for batch in range(batches):
        lanes = code.batch[batch * BATCH_WIDTH + LANES]
        for number in range(lanes):
            for further in range(code.batch[batch * BATCH_WIDTH + ISSUES]):
                replica = number % code.batch[batch * BATCH_WIDTH + REPLICAS]
                issued(facts, code, state, issue + further, number, replica, code.lane_core[lane], first)
            first += code.batch[batch * BATCH_WIDTH + LENGTH]
            lane += 1
        issue += code.batch[batch * BATCH_WIDTH + ISSUES]
    return first


def issued(facts: Facts, code: Code, state: State, issue: int, lane: int, replica: int, core: int, first: int) -> int:
    """Writes the instructions of one issue in one lane, whose instructions begin at ``first``."""
    entry = issue * ISSUE_WIDTH
    argument = code.issue[entry + ARGUMENT]
    if code.issue[entry + GROUPS] >= 0:
        argument = code.group[code.issue[entry + GROUPS] + replica]
    slot = code.issue[entry + SLOT]
    turn = 0
    for repeat in range(code.issue[entry + COUNT]):
        at = first + slot + turn
        state.core_i32[at] = core
        state.place_i32[at] = slot + turn
        state.op_u8[at] = code.issue[entry + OPCODE]
        state.dest[at] = address(facts, code, issue * OPERANDS, lane, repeat)
        state.source[at] = address(facts, code, issue * OPERANDS + 1, lane, repeat)
        state.second_i32[at] = address(facts, code, issue * OPERANDS + 2, lane, repeat)
        state.a_i32[at] = code.issue[entry + SIZE]
        state.b_i32[at] = argument
        state.node_i32[at] = code.issue[entry + NODE]
        turn += 1
        if turn == code.issue[entry + TURN]:
            turn = 0
            slot += code.issue[entry + STRIDE]
    return 0


def address(facts: Facts, code: Code, operand: int, lane: int, repeat: int) -> int:
    """Where an operand is in one lane."""
    entry = operand * ACCESS_WIDTH
    if code.access[entry + BUFFER] < 0:
        return facts.nowhere
    index = repeat
    if repeat >= code.access[entry + CYCLE]:
        index = repeat % code.access[entry + CYCLE]
    row = code.access[entry + ROW] + index * code.access[entry + ROW_STEP]
    place = code.access[entry + BUFFER] + lane * code.access[entry + ROWS] + row
    return code.row[place] + code.access[entry + START] + index * code.access[entry + STEP]
