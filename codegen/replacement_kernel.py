"""Belady's rule, core by core: the loop of :mod:`.register_replacement`, interpreted on lists or compiled on arrays."""

from __future__ import annotations

from typing import NamedTuple

from ..support.kernel_columns import Numbers

NEVER = 1 << 62


class Facts(NamedTuple):
    """Sizes."""

    registers: int
    """In the pool."""
    operands: int
    """Of an instruction."""
    numbers: int
    """One more than the highest number of a value."""


class Code(NamedTuple):
    """n instructions in order, core by core; values are numbered, 0 is none."""

    number_i32: Numbers
    """[n, operands] the value of each operand."""
    forced_i32: Numbers
    """[n] what has to be in the first register besides: numbers that no operand has."""
    stop: Numbers
    """Of each core: the end of its instructions."""
    pool: Numbers
    """[registers] their names."""


class State(NamedTuple):
    """What is found, and room to work in."""

    register_u8: Numbers
    """[n, operands]"""
    load_row_i32: Numbers
    """Of each load, as all of these: before which instruction it is."""
    load_register_u8: Numbers
    load_number_i32: Numbers
    touched: Numbers
    """Of each touch of a value on one core, as the next three: its number."""
    row: Numbers
    """The instruction."""
    following: Numbers
    """The next touch of the same value, or `NEVER`."""
    forced: Numbers
    """The first touch, from this one on, whose value has to be in the first register; or `NEVER`."""
    place: Numbers
    """The place in the pool of each touch; twice, for the two ways to use the first register."""
    load: Numbers
    """The touches for which a register is loaded; twice."""
    until: Numbers
    """Of each register: when its value is touched next."""
    held: Numbers
    """Of each register: its value."""
    where: Numbers
    """The register of each value, and of one more that does not exist; -1 for none."""


def run(facts: Facts, code: Code, state: State, cores: int) -> int:
    """Fills `register` and what is about loads; the number of loads."""
    loads = 0
    begin = 0
    for core in range(cores):
        end = code.stop[core]
        touches = list_touches(facts, code, state, begin, end)
        if touches > 0:
            first = linked(code, state, touches)
            few = replaced(facts, state, touches, 0, 0)
            at = 0
            if first < NEVER:
                apart = replaced(facts, state, touches, 1, touches)
                if apart < few:
                    few = apart
                    at = touches
            write_registers(facts, code, state, touches, at)
            for number in range(few):
                touch = state.load[at + number]
                state.load_row_i32[loads] = state.row[touch]
                state.load_register_u8[loads] = code.pool[state.place[at + touch]]
                state.load_number_i32[loads] = state.touched[touch]
                loads += 1
        begin = end
    return loads


def list_touches(facts: Facts, code: Code, state: State, begin: int, end: int) -> int:
    """Of each instruction each different value once, what is forced first, and all but the last a second time: so a
    value does not make room for another one of its own instruction. How many that are."""
    count = 0
    row = begin
    while row < end:
        first = count
        if code.forced_i32[row] > 0:
            state.touched[count] = code.forced_i32[row]
            count += 1
        for operand in range(facts.operands):
            value = code.number_i32[row * facts.operands + operand]
            earlier = first
            while earlier < count and state.touched[earlier] != value:
                earlier += 1
            if value > 0 and earlier == count:
                state.touched[count] = value
                count += 1
        again = count - first - 1
        for place in range(again):
            state.touched[count] = state.touched[first + place]
            count += 1
        while first < count:
            state.row[first] = row
            first += 1
        row += 1
    return count


def linked(code: Code, state: State, touches: int) -> int:
    """Fills `following` and `forced`; the first touch whose value has to be in the first register, or `NEVER`."""
    forced = NEVER
    touch = touches
    while touch > 0:
        touch -= 1
        value = state.touched[touch]
        following = state.where[value]
        state.following[touch] = NEVER if following < 0 else following
        state.where[value] = touch
        # The first touch of an instruction with such a value.
        if value == code.forced_i32[state.row[touch]] and (touch == 0 or state.row[touch - 1] != state.row[touch]):
            forced = touch
        state.forced[touch] = forced
    for touch in range(touches):
        state.where[state.touched[touch]] = -1
    return forced


def replaced(facts: Facts, state: State, touches: int, apart: int, at: int) -> int:
    """Fills `place` and `load` from ``at`` on; the number of loads. ``apart``: the first register is only for values
    that have to be in it."""
    loads = 0
    for register in range(facts.registers):
        state.until[register] = NEVER
        state.held[register] = facts.numbers
    for touch in range(touches):
        value = state.touched[touch]
        place = state.where[value]
        if place < 0:
            if state.forced[touch] == touch:
                place = 0
            elif apart == 1:
                place = farthest(facts, state, 1)
            else:
                place = victim(facts, state, state.forced[touch], state.following[touch])
            state.where[state.held[place]] = -1
            state.held[place] = value
            state.where[value] = place
            state.load[at + loads] = touch
            loads += 1
        state.until[place] = state.following[touch]
        state.place[at + touch] = place
    for register in range(facts.registers):
        state.where[state.held[register]] = -1
    return loads


def write_registers(facts: Facts, code: Code, state: State, touches: int, at: int) -> int:
    """The registers of the operands of one core."""
    for touch in range(touches):
        row = state.row[touch]
        for operand in range(facts.operands):
            if code.number_i32[row * facts.operands + operand] == state.touched[touch]:
                state.register_u8[row * facts.operands + operand] = code.pool[state.place[at + touch]]
    return 0


def victim(facts: Facts, state: State, forced: int, following: int) -> int:
    """The register for a value that is touched next at ``following``.

    The first one is taken for something else at ``forced``. A value that is touched before that may come there, best in
    place of one that is not. One that is touched later would be lost there: it is, if all others are touched earlier.
    """
    if following <= forced:
        if state.until[0] > forced:
            return 0
        return farthest(facts, state, 0)
    other = farthest(facts, state, 1)
    if state.until[0] <= forced or state.until[other] > following:
        return other
    return 0


def farthest(facts: Facts, state: State, first: int) -> int:
    """The register whose value is touched last of all, from ``first`` on; the first one of several."""
    found = first
    register = first + 1
    while register < facts.registers:
        if state.until[register] > state.until[found]:
            found = register
        register += 1
    return found
