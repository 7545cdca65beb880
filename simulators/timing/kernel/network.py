"""Switches and messages."""

from __future__ import annotations

from .heaps import sleep, wake
from .layout import (
    ARRIVE,
    CALL_AT,
    DATA,
    DATA_AT,
    EVENTS,
    FREE_MESSAGE,
    GLOBAL,
    GLOBAL_BUSY,
    GLOBAL_FREE,
    MESSAGES,
    NEVER,
    OVERFLOW,
    READY,
    REPLY,
    REQUEST,
    SERVE_AT,
    TAKE,
    TRANSFER_UNIT,
    Code,
    Facts,
    State,
)
from .spending import note


def put(facts: Facts, state: State, core: int, kind: int, target: int, element: int) -> None:
    """A message into the core's switch, behind those that are there."""
    message = state.chip[FREE_MESSAGE]
    if message >= 0:
        state.chip[FREE_MESSAGE] = state.message_next[message]
    else:
        message = state.chip[MESSAGES]
        if message == facts.message_room:
            state.chip[OVERFLOW] = 1
            return
        state.chip[MESSAGES] = message + 1
    state.message_kind[message] = kind
    state.message_core[message] = target
    state.message_element[message] = element
    state.message_next[message] = -1
    if state.queue_first[core] < 0:
        state.queue_first[core] = message
    else:
        state.message_next[state.queue_last[core]] = message
    state.queue_last[core] = message
    if state.switch_idle[core]:
        state.switch_idle[core] = 0
        wake(facts, state, facts.cores * facts.units + core)


def switch(facts: Facts, code: Code, state: State, core: int, before: int, now: int) -> None:
    """A core's switch: one message after another, each for its whole flight."""
    thread = facts.cores * facts.units + core
    message = state.switch_message[core]
    if state.switch_stage[core] == ARRIVE:
        delay = deliver(facts, code, state, core, message, now)
        state.switch_stage[core] = REPLY if state.message_kind[message] == GLOBAL else TAKE
        if state.switch_stage[core] == TAKE:
            release(state, message)
            state.switch_busy[core] += now + delay - state.switch_since[core]
        sleep(facts, state, thread, delay, before, now)
        return
    if state.switch_stage[core] == REPLY:
        wake(facts, state, core * facts.units + TRANSFER_UNIT)
        release(state, message)
        state.switch_busy[core] += now - state.switch_since[core]
        state.switch_stage[core] = TAKE
    message = state.queue_first[core]
    if message < 0:
        state.switch_idle[core] = 1
        return
    state.queue_first[core] = state.message_next[message]
    state.switch_message[core] = message
    state.switch_stage[core] = ARRIVE
    state.switch_since[core] = now
    kind = state.message_kind[message]
    element = state.message_element[message]
    if kind in (DATA, GLOBAL):
        flight = code.flight_ps[element]
        state.network_pj[core] += code.flight_pj[element]
        note(facts, state, element, DATA_AT, now)
    else:
        line = core * (facts.cores + 1) + state.message_core[message]
        flight = code.flit_ps[line]
        state.network_pj[core] += code.flit_pj[line]
        note(facts, state, element, CALL_AT, now)
    sleep(facts, state, thread, flight, before, now)


def release(state: State, message: int) -> None:
    """The message's place can be used again."""
    state.message_next[message] = state.chip[FREE_MESSAGE]
    state.chip[FREE_MESSAGE] = message


def deliver(facts: Facts, code: Code, state: State, core: int, message: int, now: int) -> int:
    """A message of the core has arrived; how long it still holds the core's switch."""
    kind = state.message_kind[message]
    target = state.message_core[message]
    element = state.message_element[message]
    if kind == GLOBAL:
        begin_at = max(state.chip[GLOBAL_FREE], now)
        note(facts, state, element, SERVE_AT, begin_at)
        state.chip[GLOBAL_FREE] = begin_at + code.global_ps[element]
        state.chip[GLOBAL_BUSY] += code.global_ps[element]
        state.global_pj[0] += code.global_pj[element]
        state.wait_from[core] = now
        state.wait_until[core] = begin_at
        return begin_at + code.global_ps[element] + code.reply_ps[element] - now
    unit = target * facts.units + TRANSFER_UNIT
    if kind == REQUEST:
        state.wait_from[core] = now
        if state.receive_from[target] == core:
            state.wait_until[core] = now
            state.wait_until[target] = max(state.transfer_since[target], state.transfer_since[core])
            put(facts, state, target, READY, core, state.unit_element[unit])
        else:
            state.wait_until[core] = NEVER
            state.asked[core * facts.cores + target] = 1
        return facts.request_delay
    if kind == READY:
        if state.send_to[target] == core:
            wake(facts, state, unit)
    elif kind == DATA:
        if state.receive_from[target] == core:
            wake(facts, state, unit)
    else:
        event = code.event[element]
        state.events[target * EVENTS + event] += 1
        if event == state.awaited_event[target]:
            if state.events[target * EVENTS + event] == state.awaited_value[target]:
                wake(facts, state, unit)
    return 0
