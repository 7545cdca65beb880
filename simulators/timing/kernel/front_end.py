"""A core's edge: the front end, the reorder buffer, and what can happen at the next edge."""

from __future__ import annotations

from .heaps import edge_at, wake
from .layout import (
    BASE_AT,
    BEGIN,
    BUBBLE,
    DECODES,
    DONE_AT,
    END_AT,
    FINISH,
    FIRST_GROUP,
    GROUP_START,
    ISSUE,
    ISSUE_AT,
    MATRIX,
    READS,
    RETIRE,
    SETBW,
    SETTLE,
    TRANSFER_UNIT,
    VECTOR,
    VECTOR_UNIT,
    WRITES,
    Code,
    Facts,
    State,
)
from .registers import arrive, decode, remain
from .spending import account, note


def begin(facts: Facts, code: Code, state: State, limit: int) -> None:
    """The first instruction is in decode at the first edge, and in front of the units at the second."""
    for core in range(facts.cores):
        state.next[core] = code.first[core]
        state.waiting_group[core] = -1
        state.send_to[core] = -1
        state.receive_from[core] = -1
        state.awaited_event[core] = -1
        state.switch_idle[core] = 1
        state.queue_first[core] = -1
        state.finish[core] = -1
        state.left[core] = -1
        state.last_issue[core] = 2 * facts.period
        state.base[core] = 2 * facts.period
        state.evaluations[4 * core + READS] = 1
        state.evaluations[4 * core + WRITES] = 1
        if code.first[core] < code.first[core + 1]:
            if facts.interprets:
                first_cycles(facts, code, state, core, code.first[core], limit)
            elif facts.checks:
                load_spans(code, state, core, code.first[core])
            edge_at(facts, state, 2 * facts.period, core, SETTLE, 0)
        else:
            state.left[core] = 0


def first_cycles(facts: Facts, code: Code, state: State, core: int, element: int, limit: int) -> None:
    """The first instruction arrives at decode and leaves it, if the run does not end before."""
    if limit > facts.period:
        arrive(code, state, core, element)
        state.evaluations[4 * core + DECODES] = 1
    if limit > 2 * facts.period and not stays_in_decode(facts, code, core):
        decode(facts, code, state, core, element, following(facts, code, core, element), 1)


def edge(facts: Facts, code: Code, state: State, core: int, what: int, argument: int, now: int) -> None:
    """One of the things that can happen to a core at an edge."""
    if not facts.younger_first and what <= GROUP_START:
        what = GROUP_START - what
    if what == ISSUE:
        issue(facts, code, state, core, now)
    elif what == GROUP_START:
        thread = core * facts.units + argument
        state.unit_busy[thread] = 1
        state.unit_stage[thread] = BEGIN
        wake(facts, state, thread)
    elif what == FINISH:
        finish(facts, state, core, argument, now)
    elif what == RETIRE:
        retire(facts, code, state, core, argument, now)


def issue(facts: Facts, code: Code, state: State, core: int, now: int) -> None:
    """The element leaves the front end: into the reorder buffer and to its unit."""
    element = state.next[core]
    kind = code.kind[element]
    note(facts, state, element, BASE_AT, state.base[core])
    note(facts, state, element, ISSUE_AT, now)
    state.scheduled[core] = 0
    state.base[core] = -1
    state.issued[core] += 1
    state.departed[element] += 1
    if code.marks[element]:
        state.mark_count[core] += 1
        state.mark_time[core] = now
    if kind != BUBBLE:
        if state.in_flight[core] == 0:
            account(code, state, core, facts.rob_size, now)
        entry = (state.head[core] + state.in_flight[core]) % facts.rob_size
        state.in_flight[core] += 1
        state.rob_element[core * facts.rob_size + entry] = element
        state.rob_open[core * facts.rob_size + entry] = 1
        if facts.checks:
            for part in range(6):
                state.rob_span[(core * facts.rob_size + entry) * 6 + part] = state.pending_span[core * 6 + part]
        if kind == MATRIX:
            state.waiting_group[core] = element
            state.waiting_entry[core] = entry
        else:
            thread = core * facts.units + (VECTOR_UNIT if kind == VECTOR else TRANSFER_UNIT)
            state.unit_element[thread] = element
            state.unit_entry[thread] = entry
            state.unit_busy[thread] = 1
            state.unit_stage[thread] = BEGIN
            wake(facts, state, thread)
    advance(facts, code, state, core, element, now)


def advance(facts: Facts, code: Code, state: State, core: int, element: int, now: int) -> None:
    """The front end takes its next element."""
    upcoming = following(facts, code, core, element)
    state.next[core] = upcoming
    if upcoming < 0:
        state.left[core] = now
    elif facts.interprets:
        held = (now - state.last_issue[core]) // facts.period
        decode(facts, code, state, core, upcoming, following(facts, code, core, upcoming), held)
    elif facts.checks:
        load_spans(code, state, core, upcoming)
    state.last_issue[core] = now


def stop(facts: Facts, code: Code, state: State) -> None:
    """The simulator stops: what is in decode has been there since the last instruction left the front end."""
    for core in range(facts.cores):
        if code.first[core] < code.first[core + 1]:
            held, cycles = -1, 1
            if stays_in_decode(facts, code, core):
                held = code.first[core]
                cycles = (facts.stop - 1) // facts.period - 1
                if code.op[held] == SETBW and cycles > 0:  # once more, since the widths have changed
                    state.evaluations[4 * core + DECODES] += 1
            elif state.next[core] >= 0:
                held = following(facts, code, core, state.next[core])
                cycles = (facts.stop - 1 - state.last_issue[core]) // facts.period
            remain(facts, code, state, core, held, cycles)


def stays_in_decode(facts: Facts, code: Code, core: int) -> int:
    """Whether a core in a loop has nothing but one scalar instruction, which nothing pushes out of decode."""
    return facts.looped and code.loop[core] < 0


def following(facts: Facts, code: Code, core: int, element: int) -> int:
    """The element after this one, or -1."""
    if element + 1 < code.first[core + 1]:
        return element + 1
    return code.loop[core] if facts.looped else -1


def finish(facts: Facts, state: State, core: int, unit: int, now: int) -> None:
    """A unit is ready for another instruction."""
    thread = core * facts.units + unit
    note(facts, state, state.unit_element[thread], END_AT, now)
    state.unit_busy[thread] = 0
    busy = now - state.unit_since[thread]
    if unit == TRANSFER_UNIT:
        state.transfer_busy[core] += busy
    elif unit == VECTOR_UNIT:
        state.vector_busy[core] += busy
    else:
        state.group_busy[core] += busy
        state.groups_active[core] -= 1
        if state.groups_active[core] == 0:
            state.matrix_busy[core] += now - state.groups_since[core]


def retire(facts: Facts, code: Code, state: State, core: int, entry: int, now: int) -> None:
    """An instruction is done; with it all that were done and waited for it leave the reorder buffer, in order."""
    size = facts.rob_size
    state.rob_open[core * size + entry] = 0
    note(facts, state, state.rob_element[core * size + entry], DONE_AT, now)
    if entry != state.head[core]:
        return
    account(code, state, core, size, now)
    last = -1
    while state.in_flight[core] > 0 and state.rob_open[core * size + state.head[core]] == 0:
        last = state.rob_element[core * size + state.head[core]]
        state.head[core] = (state.head[core] + 1) % size
        state.in_flight[core] -= 1
    if last == code.first[core + 1] - 1 and not facts.looped:
        state.finish[core] = now


def settle(facts: Facts, code: Code, state: State, core: int, now: int) -> None:
    """After an edge: what can happen at the next one?"""
    units = core * facts.units
    element = state.waiting_group[core]
    if element >= 0:
        thread = units + FIRST_GROUP + code.group[element]
        if not state.unit_busy[thread]:
            state.waiting_group[core] = -1
            state.unit_element[thread] = element
            state.unit_entry[thread] = state.waiting_entry[core]
            what = GROUP_START if facts.younger_first else ISSUE
            edge_at(facts, state, now + facts.period, core, what, FIRST_GROUP + code.group[element])
    if state.base[core] < 0:
        if state.in_flight[core] == facts.rob_size:
            return
        state.base[core] = now
    element = state.next[core]
    if state.scheduled[core] or element < 0 or state.in_flight[core] == facts.rob_size:
        return
    kind = code.kind[element]
    if kind == MATRIX:
        if state.waiting_group[core] >= 0:
            return
    elif kind == VECTOR:
        if state.unit_busy[units + VECTOR_UNIT]:
            return
    elif kind != BUBBLE and state.unit_busy[units + TRANSFER_UNIT]:
        return
    if facts.checks and kind != BUBBLE and conflicts(facts, state, core):
        return
    arrival = state.base[core] + code.gap[element] * facts.period
    state.scheduled[core] = 1
    what = ISSUE if facts.younger_first else GROUP_START
    edge_at(facts, state, max(arrival, now) + facts.period, core, what, 0)


def conflicts(facts: Facts, state: State, core: int) -> bool:
    """Whether the pending instruction touches what an unfinished one in the reorder buffer does."""
    mine = core * 6
    for position in range(state.in_flight[core]):
        entry = core * facts.rob_size + (state.head[core] + position) % facts.rob_size
        if state.rob_open[entry] == 0:
            continue
        other = entry * 6
        if overlap(state, mine + 4, other) or overlap(state, mine + 4, other + 2):
            return True
        if overlap(state, mine, other + 4) or overlap(state, mine + 2, other + 4):
            return True
        if facts.sees_write_after_write and overlap(state, mine + 4, other + 4):
            return True
    return False


def overlap(state: State, mine: int, other: int) -> bool:
    """Whether two ranges, the first pending and the second in the reorder buffer, have an address in common."""
    begins_before = state.pending_span[mine] < state.rob_span[other + 1]
    return begins_before and state.rob_span[other] < state.pending_span[mine + 1]


def load_spans(code: Code, state: State, core: int, element: int) -> None:
    """The ranges of an element whose addresses are known."""
    for part in range(6):
        state.pending_span[core * 6 + part] = code.spans[element * 6 + part]
