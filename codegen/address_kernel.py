"""The plan of :mod:`.address_plan` for machines that execute in order, core by core: the loop that is compiled.

Of each instruction that takes an offset it lists the candidates, and chooses among them in some rounds: forward through
the core, to find how far each value is from where it was used before, and back, to find the same behind, to choose, and
to note what was chosen for the next round. It needs room for one core only.
"""

from __future__ import annotations

from typing import NamedTuple

from ..support.kernel_columns import Numbers

OPERANDS = 3
CANDIDATES = 5
"""Addresses in ascending order, then the distances of the second and the third from the first."""
FAR = 1 << 20
"""Rows: a value that recurs later than this is as good as one that never does."""
ROUNDS = 3
ALL = (1 << CANDIDATES) - 1
"""All candidates, each as its bit."""


class Facts(NamedTuple):
    """Opcodes that have an operand in global memory."""

    load: int
    store: int


class Code(NamedTuple):
    """Instructions in order, core by core."""

    op_u8: Numbers
    dest: Numbers
    source: Numbers
    second_i32: Numbers
    """Addresses, -1 for none."""
    selectable: Numbers
    """By opcode and operand: whether the offset may be added to it."""
    unit: Numbers
    """By opcode: bytes."""
    stop: Numbers
    """Of each core: the end of its instructions."""
    choice_begin: Numbers
    """By the number of different addresses: the first choice; and where the last ones end."""
    choice: Numbers
    """The candidates that are in registers, each as its bit."""


class State(NamedTuple):
    """What is found, and room for it."""

    base_i32: Numbers
    """[n, operands]"""
    offset_i32: Numbers
    """[n]"""
    select_u8: Numbers
    """[n]"""
    differing: Numbers
    """Of each instruction of a core: how many different addresses it has; -1 if it takes no offset."""
    candidate: Numbers
    """Of each instruction of a core its candidates, or its addresses if it takes no offset; 0 for none."""
    gap: Numbers
    """Of each candidate: rows since its value was used."""
    chosen: Numbers
    """Of each instruction of a core: the candidates that count as used, each as its bit."""
    seen: Numbers
    """By value: when it was used last, in a count of rows that goes on from pass to pass."""


def run(facts: Facts, code: Code, state: State, cores: int) -> int:
    """Fills `base`, `offset` and `select`. 0, or 1 more than the instruction whose address is not at an element."""
    begin = 0
    time = 0
    for core in range(cores):
        rows = code.stop[core] - begin
        for row in range(rows):
            note(facts, code, state, begin + row, row)
        for _ in range(ROUNDS):
            look_back(state, rows, time)
            time += rows
            choose(code, state, rows, time)
            time += rows
        for row in range(rows):
            if write(facts, code, state, begin + row, row) == 0:
                return begin + row + 1
        begin = code.stop[core]
    return 0


def operand(facts: Facts, code: Code, place: int, number: int) -> int:
    """A local address of an instruction, or -1."""
    if number == 0:
        return -1 if code.op_u8[place] == facts.store else code.dest[place]
    if number == 1:
        return -1 if code.op_u8[place] == facts.load else code.source[place]
    return code.second_i32[place]


def note(facts: Facts, code: Code, state: State, place: int, row: int) -> int:
    """Lists the candidates of an instruction."""
    op = code.op_u8[place]
    first = row * CANDIDATES
    takes = 1
    used = 0
    for number in range(OPERANDS):
        address = operand(facts, code, place, number)
        state.candidate[first + number] = 0 if address < 0 else address
        if address >= 0:
            used += 1
            if code.selectable[op * OPERANDS + number] == 0:
                takes = 0
    state.candidate[first + 3] = 0
    state.candidate[first + 4] = 0
    for number in range(CANDIDATES):
        state.gap[first + number] = 0
    state.chosen[row] = ALL
    state.differing[row] = -1
    if takes == 1 and used > 0:
        state.differing[row] = ascending(facts, code, state, place, first)
    if state.differing[row] == 1:
        state.chosen[row] = 0
    return 0


def ascending(facts: Facts, code: Code, state: State, place: int, first: int) -> int:
    """Puts the different addresses in order, and their distances behind them; how many differ."""
    count = 0
    for number in range(OPERANDS):
        address = operand(facts, code, place, number)
        at = 0
        while at < count and state.candidate[first + at] < address:
            at += 1
        if address >= 0 and (at == count or state.candidate[first + at] != address):
            move = count
            while move > at:
                state.candidate[first + move] = state.candidate[first + move - 1]
                move -= 1
            state.candidate[first + at] = address
            count += 1
    for number in range(OPERANDS - count):
        state.candidate[first + count + number] = 0
    for number in range(2):
        has = number + 1 < count
        distance = state.candidate[first + 1 + number] - state.candidate[first]
        state.candidate[first + 3 + number] = distance if has else 0
    return count


def look_back(state: State, rows: int, time: int) -> int:
    """Notes of each candidate how many rows before its value was used, of those that count."""
    for row in range(rows):
        for number in range(CANDIDATES):
            value = state.candidate[row * CANDIDATES + number]
            if value > 0:
                state.gap[row * CANDIDATES + number] = since(state, value, time, time + row)
                if state.chosen[row] >> number & 1 == 1:
                    state.seen[value] = time + row
    return 0


def choose(code: Code, state: State, rows: int, time: int) -> int:
    """Adds how many rows behind the value is used, and chooses what costs least; the first one of several."""
    row = rows
    now = time
    while row > 0:
        row -= 1
        number = CANDIDATES
        while number > 0:
            number -= 1
            value = state.candidate[row * CANDIDATES + number]
            if value > 0:
                state.gap[row * CANDIDATES + number] += since(state, value, time, now)
                if state.chosen[row] >> number & 1 == 1:
                    state.seen[value] = now
        if state.differing[row] > 1:
            state.chosen[row] = best(code, state, row)
        now += 1
    return 0


def since(state: State, value: int, time: int, now: int) -> int:
    """Rows since the value was used in this pass, which began at ``time``; at most `FAR`."""
    seen = state.seen[value]
    return min(now - seen, FAR) if seen >= time else FAR


def best(code: Code, state: State, row: int) -> int:
    """The cheapest choice."""
    found = 0
    least = CANDIDATES * 2 * FAR
    number = code.choice_begin[state.differing[row]]
    while number < code.choice_begin[state.differing[row] + 1]:
        choice = code.choice[number]
        cost = 0
        for place in range(CANDIDATES):
            if choice >> place & 1 == 1:
                cost += state.gap[row * CANDIDATES + place]
        if cost < least:
            least = cost
            found = choice
        number += 1
    return found


def write(facts: Facts, code: Code, state: State, place: int, row: int) -> int:
    """The plan of an instruction; whether its offset is at a whole element."""
    unit = code.unit[code.op_u8[place]]
    takes = state.differing[row] > 0
    offset = offset_of(state, row) if takes else 0
    select = 0
    for number in range(OPERANDS):
        address = operand(facts, code, place, number)
        base = max(address, 0)
        if takes and address >= 0 and is_bare(state, row, address):
            base -= offset
            select += 1 << number
        state.base_i32[place * OPERANDS + number] = base
    state.offset_i32[place] = offset // unit
    state.select_u8[place] = select
    return offset % unit == 0


def offset_of(state: State, row: int) -> int:
    """The lowest address that neither is in a register nor has its distance there; 0 if there is none."""
    kept = state.chosen[row]
    for number in range(state.differing[row]):
        in_register = kept >> number & 1 == 1 or (number > 0 and kept >> number + 2 & 1 == 1)
        if not in_register:
            return state.candidate[row * CANDIDATES + number]
    return 0


def is_bare(state: State, row: int, address: int) -> int:
    """Whether an address is not in a register as it is."""
    number = 0
    while state.candidate[row * CANDIDATES + number] != address:
        number += 1
    return 1 - (state.chosen[row] >> number & 1)
