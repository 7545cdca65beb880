"""Rows on their way: a core sends its row to one core after the other, and lanes have what they need."""

from __future__ import annotations

from ...support.bisection import first_not_below
from .layout import NONE, PATIENCE, RESUMES, Code, Facts, State
from .list_heaps import push_event


def distribute(facts: Facts, code: Code, state: State, lane: int, time: int) -> None:
    """The row of a lane that has ended is there for lanes on the same core, and to be sent to others."""
    core = code.core[lane]
    first = code.use_first[lane]
    end = first
    for number in range(code.use_first[lane + 1] - first):
        use = code.by_urgency[first + number]
        if code.use_core[use] == core:
            arrive(facts, code, state, use, time)
        else:
            state.to_send[end] = use
            end += 1
    state.send_next[core] = first
    state.send_end[core] = end
    go_on(facts, code, state, core, time)


def go_on(facts: Facts, code: Code, state: State, core: int, time: int) -> None:
    """A core goes on, at a time to come: with a message if there is one to send, or with a lane."""
    if state.send_next[core] == state.send_end[core]:
        push_event(state, time * facts.keys + facts.starting + core)
        return
    place = code.use_place[state.to_send[state.send_next[core]]]
    push_event(state, time * facts.keys + facts.sending + place * facts.cores + core)


def send(facts: Facts, code: Code, state: State, core: int, time: int) -> None:
    """Sends one of the rows that the core has to send, the most urgent of those that can go now; else waits."""
    place = next_message(facts, code, state, core, time)
    begin = state.begin[place - state.send_next[core]]
    if begin > time:
        go_on(facts, code, state, core, begin)
        return
    use = state.to_send[place]
    while place > state.send_next[core]:
        state.to_send[place] = state.to_send[place - 1]
        place -= 1
    state.send_next[core] += 1
    state.sent[use] = time
    receive(facts, code, state, use, time)
    arrive(facts, code, state, use, time + code.receive[use])
    done = time + code.send[use]
    state.linked[core] = done
    state.switch[core] = done + code.flight[use]
    state.free[core] = max(state.free[core], done)
    go_on(facts, code, state, core, done)


def next_message(facts: Facts, code: Code, state: State, core: int, time: int) -> int:
    """Where the next message is among those to send: the most urgent of those that can begin soonest.

    `begin` says when it and those before it can begin.
    """
    soonest = max(time, max(state.linked[core], state.switch[core]))
    first = state.send_next[core]
    place = first
    least = 0
    while place < state.send_end[core]:
        target = code.use_core[state.to_send[place]]
        begin = max(soonest, max(state.linked[target], state.switch[target]))
        begin = between(facts, code, state, target, begin)
        state.begin[place - first] = begin
        if begin <= soonest + PATIENCE:
            return place
        least = begin if place == first else min(least, begin)
        place += 1
    place = first
    while state.begin[place - first] > least + PATIENCE:
        place += 1
    return place


def between(facts: Facts, code: Code, state: State, core: int, time: int) -> int:
    """From ``time`` on, when the core is free or between two instructions of its lane, as far as is known now.

    An instruction that has only just begun has waited for the message instead.
    """
    lane = state.current[core]
    if lane == NONE:
        return max(time, state.free[core])
    origin = state.origin[core]
    if origin == NONE:
        return max(time, state.free[core]) + state.load_left[core]
    place = next_instruction(code, code.batch[lane], time - origin)
    if has_waited(facts, code, state, lane, place, time - origin):
        return time
    return time if place == code.begins_first[code.batch[lane] + 1] else max(time, origin + code.begins[place])


def has_waited(facts: Facts, code: Code, state: State, lane: int, place: int, cycle: int) -> int:
    """Whether a lane may have waited, until it is at this cycle, with the instruction before ``place``."""
    first = code.begins_first[code.batch[lane]]
    if place == first or cycle - code.begins[place - 1] > facts.courtesy:
        return 0
    if place == first + 1 and state.start[lane] != state.origin[code.core[lane]]:
        return 0  # it has gone on meanwhile, as is noted for its first cycle
    return 1


def stopped_at(facts: Facts, code: Code, state: State, lane: int, cycle: int) -> int:
    """How many cycles a lane has done when it takes a message at this one."""
    batch = code.batch[lane]
    place = next_instruction(code, batch, cycle)
    if place < code.begins_first[batch + 1] and code.begins[place] == cycle:
        return cycle
    return code.begins[place - 1] if has_waited(facts, code, state, lane, place, cycle) else cycle


def next_instruction(code: Code, batch: int, cycle: int) -> int:
    """Where in `begins` the first instruction of a lane is that begins at the cycle or later; else the batch's end."""
    return first_not_below(code.begins, code.begins_first[batch], code.begins_first[batch + 1], cycle)


def receive(facts: Facts, code: Code, state: State, use: int, time: int) -> None:
    """The receiver takes a message, whatever it does."""
    core = code.use_core[use]
    received = time + code.receive[use]
    state.linked[core] = received
    if state.current[core] == NONE:
        state.free[core] = max(state.free[core], received)
        return
    lane = state.current[core]
    done = stopped_at(facts, code, state, lane, time - state.origin[core])
    if done == 0 and time > state.origin[core]:
        state.start[lane] = received
    else:
        resume(state, lane, done, received)
    state.origin[core] = received - done


def resume(state: State, lane: int, done: int, time: int) -> None:
    """Notes that a lane goes on behind ``done`` of its cycles."""
    place = state.chip[RESUMES]
    state.resume_lane[place], state.resume_done[place], state.resume_time[place] = lane, done, time
    state.chip[RESUMES] = place + 1


def arrive(facts: Facts, code: Code, state: State, use: int, time: int) -> None:
    """A row is on a core where it is used: lanes there may have all they need."""
    for number in range(code.reader_first[use + 1] - code.reader_first[use]):
        lane = code.readers[code.reader_first[use] + number]
        state.missing[lane] -= 1
        state.ready[lane] = max(state.ready[lane], time)
        if state.missing[lane] == 0:
            push_event(state, state.ready[lane] * facts.keys + 2 * code.place[lane])
