"""Threads: what a unit does when one of its waits ends."""

from __future__ import annotations

from .heaps import edge_at, sleep
from .layout import (
    BEGIN,
    BEGIN_AT,
    COPY,
    DATA,
    ENDED,
    EVENT_DONE,
    EVENTS,
    FILL,
    FINISH,
    FIRST_AT,
    FIRST_GROUP,
    GLOBAL,
    LOAD,
    MATRIX,
    NEVER,
    READY,
    RECV,
    REQUEST,
    RETIRE,
    SECOND,
    SECOND_AT,
    SEND,
    SEND_DATA,
    SEND_READ,
    SIGNAL,
    STORE,
    STORE_DATA,
    STORED,
    SYNC,
    TRANSFER_UNIT,
    VECTOR,
    Code,
    Facts,
    State,
)
from .network import put, switch
from .spending import note


def go_on(facts: Facts, code: Code, state: State, thread: int, before: int, now: int) -> None:
    """A thread goes on; ``before`` the clock of this instant or after."""
    switches = facts.cores * facts.units
    if thread >= switches:
        switch(facts, code, state, thread - switches, before, now)
        return
    core, unit = thread // facts.units, thread % facts.units
    element = state.unit_element[thread]
    stage = state.unit_stage[thread]
    if stage == BEGIN:
        start(facts, code, state, core, unit, now)
    elif stage == SECOND:
        state.receive_from[core] = -1 if unit == TRANSFER_UNIT else state.receive_from[core]
        state.seconded[element] += 1
        delay = local_memory(facts, state, core, element, SECOND_AT, code.second_ps[element], now)
        last_wait(facts, state, core, unit, delay, before, now)
    elif stage == STORE_DATA:
        put(facts, state, core, GLOBAL, facts.cores, element)
        state.unit_stage[thread] = STORED
    elif stage == SEND_READ:
        state.started[element] += 1
        state.unit_stage[thread] = SEND_DATA
        delay = local_memory(facts, state, core, element, FIRST_AT, code.first_ps[element], now)
        sleep(facts, state, thread, delay, before, now)
    elif stage == SEND_DATA:
        put(facts, state, core, DATA, code.peer[element], element)
        state.send_to[core] = -1
        end(facts, state, core, unit, this_edge(facts, now, before))
    else:
        if stage == EVENT_DONE:
            state.events[core * EVENTS + code.event[element]] = 0
            state.awaited_event[core] = -1
        end(facts, state, core, unit, this_edge(facts, now, before))


def start(facts: Facts, code: Code, state: State, core: int, unit: int, now: int) -> None:
    """A unit begins an instruction."""
    thread = core * facts.units + unit
    element = state.unit_element[thread]
    kind = code.kind[element]
    note(facts, state, element, BEGIN_AT, now)
    state.unit_since[thread] = now
    if unit >= FIRST_GROUP:
        if state.groups_active[core] == 0:
            state.groups_since[core] = now
        state.groups_active[core] += 1
    if unit == TRANSFER_UNIT:
        state.transfer_since[core] = now
        state.wait_from[core] = 0
        state.wait_until[core] = 0
    if kind in (MATRIX, VECTOR):
        state.started[element] += 1
        state.unit_stage[thread] = SECOND
        delay = local_memory(facts, state, core, element, FIRST_AT, code.first_ps[element], now)
        sleep(facts, state, thread, delay + code.compute_ps[element], 0, now)
    elif kind in (FILL, COPY):
        state.started[element] += 1
        state.seconded[element] += 1
        service = code.first_ps[element] + code.second_ps[element]
        delay = local_memory(facts, state, core, element, FIRST_AT, service, now)
        last_wait(facts, state, core, unit, delay, 0, now)
    elif kind == LOAD:
        state.unit_stage[thread] = SECOND
        put(facts, state, core, GLOBAL, facts.cores, element)
    elif kind == STORE:
        state.started[element] += 1
        state.unit_stage[thread] = STORE_DATA
        delay = local_memory(facts, state, core, element, FIRST_AT, code.first_ps[element], now)
        sleep(facts, state, thread, delay, 0, now)
    elif kind == SEND:
        state.unit_stage[thread] = SEND_READ
        state.send_to[core] = code.peer[element]
        put(facts, state, core, REQUEST, code.peer[element], element)
    elif kind == RECV:
        start_receiving(facts, code, state, core, now)
    elif kind == SYNC:
        put(facts, state, core, SIGNAL, code.peer[element], element)
        last_wait(facts, state, core, unit, facts.period, 0, now)
    else:
        event = core * EVENTS + code.event[element]
        if state.events[event] == code.value[element]:
            state.events[event] = 0
            end(facts, state, core, unit, this_edge(facts, now, 0))
        else:
            state.unit_stage[thread] = EVENT_DONE
            state.awaited_event[core] = code.event[element]
            state.awaited_value[core] = code.value[element]


def start_receiving(facts: Facts, code: Code, state: State, core: int, now: int) -> None:
    """``recv`` answers a sender that has asked, or waits for it to ask."""
    thread = core * facts.units + TRANSFER_UNIT
    sender = code.peer[state.unit_element[thread]]
    state.unit_stage[thread] = SECOND
    if sender >= 0 and state.asked[sender * facts.cores + core]:
        state.asked[sender * facts.cores + core] = 0
        state.receive_from[core] = sender
        state.wait_until[sender] = now
        put(facts, state, core, READY, sender, state.unit_element[thread])
    else:
        state.receive_from[core] = sender
        state.wait_from[core] = now
        state.wait_until[core] = NEVER


def local_memory(facts: Facts, state: State, core: int, element: int, access: int, service: int, now: int) -> int:
    """Asks a core's memory for so much service, for an access of the element; the time until it is done."""
    begin_at = max(state.local_free[core], now)
    note(facts, state, element, access, begin_at)
    state.local_free[core] = begin_at + service
    state.local_busy[core] += service
    return begin_at + service - now


def last_wait(facts: Facts, state: State, core: int, unit: int, delay: int, before: int, now: int) -> None:
    """A unit's last wait: its end is known at once, unless the heap says whether it is before the clock."""
    if facts.heap_order and facts.late:
        thread = core * facts.units + unit
        state.unit_stage[thread] = ENDED
        sleep(facts, state, thread, delay, before, now)
    else:
        end(facts, state, core, unit, end_edge(facts, now, delay, before))


def end_edge(facts: Facts, now: int, delay: int, before: int) -> int:
    """The edge that sees the end of a last wait."""
    done = now + delay
    period = facts.period
    if done % period != 0 or not facts.late:
        return -(-done // period) * period
    early = delay > period or (delay == period and before == 1)
    return done if early and delay > 0 else done + period


def this_edge(facts: Facts, now: int, before: int) -> int:
    """The edge that sees what a thread does now."""
    if now % facts.period == 0 and before == 1:
        return now
    return (now // facts.period + 1) * facts.period


def end(facts: Facts, state: State, core: int, unit: int, at: int) -> None:
    """The unit's instruction is executed: ready at that edge, out of the reorder buffer at the next."""
    edge_at(facts, state, at, core, FINISH, unit)
    commit = at
    if unit >= FIRST_GROUP:
        commit = max(at, state.last_commit[core] + facts.period)
        state.last_commit[core] = commit
    edge_at(facts, state, commit + facts.period, core, RETIRE, state.unit_entry[core * facts.units + unit])
