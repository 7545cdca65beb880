"""Decode, for programs whose registers have to be followed."""

from __future__ import annotations

from .layout import (
    BUBBLE,
    DECODES,
    NEVER,
    PORT,
    READS,
    REGISTERS,
    SADD,
    SADDI,
    SCALARS,
    SETBW,
    SLD,
    SMUL,
    SMULI,
    SSUB,
    STEADY,
    WRITES,
    Code,
    Facts,
    State,
)


def decode(facts: Facts, code: Code, state: State, core: int, element: int, upcoming: int, held: int) -> None:
    """The element leaves decode after so many cycles there, and the upcoming one (or none: -1) arrives."""
    execute_cycles(facts, code, state, core, element, upcoming, held, held)
    if code.kind[element] != BUBBLE:
        for part in range(3):
            length = code.range_length[element * 3 + part]
            begin_at, end_at = NEVER, -NEVER
            if length >= 0:
                begin_at = code.range_offset[element * 3 + part]
                register = code.range_register[element * 3 + part]
                if register >= 0:
                    begin_at += state.registers[core * REGISTERS + register]
                end_at = begin_at + length
            state.pending_span[core * 6 + part * 2] = begin_at
            state.pending_span[core * 6 + part * 2 + 1] = end_at


def remain(facts: Facts, code: Code, state: State, core: int, element: int, cycles: int) -> None:
    """The simulator stops after so many cycles, while the element (or none: -1) is still in decode.

    An instruction that overwrites its source and repeats (``scalars_repeat``) adds to it, negates it or multiplies it,
    in 32 bits. Adding, negating and multiplying by an odd number never come to rest, unless they change nothing from
    the beginning; multiplying by an even number, doubling and squaring do so after about 32 times. So after ``STEADY``
    cycles all that follow are alike.
    """
    if element >= 0:
        execute_cycles(facts, code, state, core, element, -1, min(cycles, STEADY), 0)
    elif cycles > 0 and state.port[core * PORT + 10]:
        state.evaluations[core * 4 + READS] += 1
        state.port[core * PORT + 10] = 0
    more = cycles - STEADY
    if more > 0 and state.port[core * PORT + 10]:
        state.evaluations[core * 4 + DECODES] += more
        state.evaluations[core * 4 + READS] += 2 * more
        state.evaluations[core * 4 + WRITES] += more
        state.evaluations[core * 4 + SCALARS] += more


def execute_cycles(
    facts: Facts, code: Code, state: State, core: int, element: int, upcoming: int, held: int, departure: int
) -> None:
    """What happens in so many cycles of an element in decode; it leaves in that of its departure (if never: 0).

    A scalar instruction executes in each of these cycles in which its operands changed. The register file's port
    (``port``) holds what was read last: addresses of rd, rs1, rs2 and whether double words, then five values, and the
    last write; the simulator takes energy for every evaluation of these, which are counted as it makes them.
    """
    port = core * PORT
    counts = core * 4
    last_first, last_second = 0, 0
    cycle = 1
    while cycle <= held:
        leaves = cycle == departure
        changed = 0
        if state.port[port + 10]:
            state.evaluations[counts + READS] += 1
        if code.kind[element] == BUBBLE and code.op[element] != SETBW:
            first = state.registers[core * REGISTERS + code.rs1[element]]
            second = state.registers[core * REGISTERS + code.rs2[element]]
            if cycle == 1 or (facts.repeats and (first != last_first or second != last_second)):
                state.evaluations[counts + SCALARS] += 1
                changed = execute(code, state, core, element, first, second)
                last_first, last_second = first, second
        settled = changed == 0 and state.port[port + 10] == 0
        state.port[port + 10] = changed
        moved = 0
        if leaves and upcoming >= 0:
            moved = address(code, state, core, upcoming)
            if not facts.looped or code.loop[core] < code.first[core + 1] - 1:  # else the instruction is the same
                state.evaluations[counts + DECODES] += 1
        if changed or moved:
            state.evaluations[counts + READS] += 1
            if read(state, core) and (upcoming >= 0 or not leaves):
                state.evaluations[counts + DECODES] += 1
        cycle = held if settled and cycle < held - 1 else cycle + 1


def arrive(code: Code, state: State, core: int, element: int) -> None:
    """The first instruction arrives at decode."""
    for register in range(REGISTERS):
        state.registers[core * REGISTERS + register] = 0
    if address(code, state, core, element):
        state.evaluations[core * 4 + READS] += 1


def execute(code: Code, state: State, core: int, element: int, first: int, second: int) -> int:
    """Executes a scalar instruction; whether it wrote something else than was written last."""
    op, target, imm = code.op[element], code.rd[element], code.imm[element]
    value = imm
    if op == SADD:
        value = first + second
    elif op == SSUB:
        value = first - second
    elif op == SMUL:
        value = first * second
    elif op == SADDI:
        value = first + imm
    elif op == SMULI:
        value = first * imm
    elif op == SLD:
        target, value = 0, 0
    value = (value + (1 << 31)) % (1 << 32) - (1 << 31)
    state.registers[core * REGISTERS + target] = value
    written = core * 2
    same = state.last_write[written] == target and state.last_write[written + 1] == value
    state.last_write[written] = target
    state.last_write[written + 1] = value
    if same:
        return 0
    state.evaluations[core * 4 + WRITES] += 1
    return 1


def address(code: Code, state: State, core: int, element: int) -> int:
    """The register file is asked for an element's registers; whether it was asked for others before."""
    port = core * PORT
    changed = 0
    if state.port[port] != code.rd[element]:
        state.port[port] = code.rd[element]
        changed = 1
    if state.port[port + 1] != code.rs1[element]:
        state.port[port + 1] = code.rs1[element]
        changed = 1
    if state.port[port + 2] != code.rs2[element]:
        state.port[port + 2] = code.rs2[element]
        changed = 1
    if state.port[port + 3] != code.double[element]:
        state.port[port + 3] = code.double[element]
        changed = 1
    return changed


def read(state: State, core: int) -> int:
    """The register file answers; whether other than before."""
    port = core * PORT
    changed = 0
    if state.port[port + 3]:
        changed |= answer(state, port + 4, 0)
        changed |= answer(state, port + 5, 0)
        changed |= answer(state, port + 7, double_word(state, core, state.port[port]))
        changed |= answer(state, port + 8, double_word(state, core, state.port[port + 1]))
    else:
        changed |= answer(state, port + 4, state.registers[core * REGISTERS + state.port[port]])
        changed |= answer(state, port + 5, state.registers[core * REGISTERS + state.port[port + 1]])
        changed |= answer(state, port + 7, 0)
        changed |= answer(state, port + 8, 0)
    return changed | answer(state, port + 6, state.registers[core * REGISTERS + state.port[port + 2]])


def double_word(state: State, core: int, register: int) -> int:
    """The value of a pair of registers, the high word first."""
    low = state.registers[core * REGISTERS + register + 1] if register + 1 < REGISTERS else 0
    return state.registers[core * REGISTERS + register] * (1 << 32) + low % (1 << 32)


def answer(state: State, place: int, value: int) -> int:
    """Puts a value there; whether it is another one."""
    if state.port[place] == value:
        return 0
    state.port[place] = value
    return 1
