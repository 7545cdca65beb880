"""One event after another: each begins when its cores are free and what it needs is there."""

from __future__ import annotations

from .dict_table import bring, time_of
from .layout import ABSENT, Code, Facts, State
from .port import serve


def run(facts: Facts, code: Code, state: State, events: int) -> int:
    """Executes all events. How many rows are needed that are not there: nothing waits for them."""
    unready = 0
    for event in range(events):
        core = code.core[event]
        partner = code.partner[event]
        start = state.free[core]
        for number in range(code.needs[event]):
            ready = time_of(facts, state, code.needed[code.first[event] + number])
            if ready == ABSENT:
                unready += 1
            elif ready > start:
                start = ready
        if partner != ABSENT and core == facts.port:
            start = serve(facts, state, state.free[partner], code.cycles[event])
            state.free[partner] = start + code.partner_cycles[event]
            bring_made(facts, code, state, event, partner)
            continue
        if partner != ABSENT:
            start = max(start, state.free[partner])
            if code.network_cycles[event] > 0:
                start = max(start, max(state.through[core], state.through[partner]))
                state.through[core] = start + code.network_cycles[event]
            state.free[partner] = start + code.partner_cycles[event]
        state.free[core] = start + code.cycles[event]
        bring_made(facts, code, state, event, core if partner == ABSENT else partner)
    return unready


def bring_made(facts: Facts, code: Code, state: State, event: int, place: int) -> None:
    """What the event makes is on this core when that goes on."""
    if code.made[event] != ABSENT:
        bring(facts, state, code.made[event], state.free[place])
