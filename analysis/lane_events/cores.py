"""Lanes on cores: they become ready, start, load, run, are stopped by more urgent ones, and end."""

from __future__ import annotations

from .fetches import fetch_soon, note_load, served
from .layout import HELD, NONE, PATIENCE, READY, Code, Facts, State
from .list_heaps import pop_waiting, push_event, push_waiting
from .messages import distribute, next_instruction, resume


def make_ready(facts: Facts, code: Code, state: State, lane: int, time: int) -> None:
    """A lane has all its rows: it waits for its core, unless the lead holds it back."""
    behind = lane - code.lead[code.batch[lane]]
    if behind >= code.first[code.batch[lane]] and state.unread[behind] > 0:
        state.held_at[behind] = state.chip[HELD]
        state.held[state.chip[HELD]] = behind
        state.chip[HELD] += 1
        return
    core = code.core[lane]
    if facts.as_rows_come:
        state.turn[lane] = state.chip[READY]
        state.lane_at[state.chip[READY]] = lane
        state.chip[READY] += 1
    push_waiting(code, state, core, state.turn[lane])
    preempt(facts, code, state, core, lane, time)
    dispatch(facts, code, state, core, time)


def dispatch(facts: Facts, code: Code, state: State, core: int, time: int) -> None:
    """Starts the most urgent lane, if the core has nothing else to do."""
    if state.current[core] != NONE or state.send_next[core] < state.send_end[core]:
        return
    if state.waiting_count[core] == 0:
        fetch_soon(facts, code, state, core, time)
        return
    if state.free[core] > time:
        push_event(state, state.free[core] * facts.keys + facts.starting + core)
        return
    lane = most_urgent(facts, code, state, core)
    if lane == NONE:
        return
    state.current[core] = lane
    done = state.paused[lane]
    if done == NONE:
        find_loads(code, state, core, lane)
        load(facts, code, state, core, time)
    else:
        state.paused[lane] = NONE
        state.stopped[code.batch[lane] * facts.cores + core] = NONE
        resume(state, lane, done, time)
        run_lane(facts, code, state, core, time - done)


def most_urgent(facts: Facts, code: Code, state: State, core: int) -> int:
    """Takes the most urgent of the waiting lanes; a stopped one of the same batch goes first."""
    while state.waiting_count[core] > 0:
        lane = state.lane_at[pop_waiting(code, state, core)]
        if state.start[lane] != NONE and state.paused[lane] == NONE:
            continue  # it has gone on already
        stopped = state.stopped[code.batch[lane] * facts.cores + core]
        if stopped in (NONE, lane):
            return lane
        push_waiting(code, state, core, state.turn[lane])
        return stopped
    return NONE


def preempt(facts: Facts, code: Code, state: State, core: int, lane: int, time: int) -> None:
    """Stops what the core runs behind its next instruction, if ``lane`` is more urgent and much is left to run."""
    stopped = state.current[core]
    origin = state.origin[core]
    if stopped == NONE or origin == NONE or state.turn[stopped] < state.turn[lane]:
        return
    batch = code.batch[stopped]
    end = code.begins_first[batch + 1]
    at = next_instruction(code, batch, max(time, state.linked[core]) - origin)
    if at == end or code.begins[end - 1] - code.begins[at] < PATIENCE:
        return
    if batch == code.batch[lane] or state.stopped[code.batch[lane] * facts.cores + core] != NONE:
        return
    state.paused[stopped] = code.begins[at]
    state.stopped[batch * facts.cores + core] = stopped
    state.current[core], state.origin[core] = NONE, NONE
    state.free[core] = max(time, origin + code.begins[at])
    push_waiting(code, state, core, state.turn[stopped])


def find_loads(code: Code, state: State, core: int, lane: int) -> None:
    """What the lane needs of global memory and is not there yet."""
    first = code.load_first[lane]
    end = first
    left = 0
    for number in range(code.load_first[lane + 1] - first):
        item = code.load_item[first + number]
        if state.loaded[item] == 0:
            state.loaded[item] = 1
            state.to_load[end] = first + number
            left += code.load_cycles[first + number]
            end += 1
    state.load_next[core], state.load_end[core], state.load_left[core] = first, end, left


def load(facts: Facts, code: Code, state: State, core: int, time: int) -> None:
    """Loads the next of what the core has to load; then the lane starts."""
    if state.load_next[core] == state.load_end[core]:
        state.start[state.current[core]] = time
        run_lane(facts, code, state, core, time)
        return
    number = state.to_load[state.load_next[core]]
    then = time + code.request[core]
    if state.asked[core] == 0:
        note_load(facts, code, state, code.load_item[number], time)
    if code.load_port[number] > 0 and state.asked[core] == 0:
        state.asked[core] = 1
    else:
        state.asked[core] = 0
        state.load_next[core] += 1
        state.load_left[core] -= code.load_cycles[number]
        then = served(facts, code, state, core, number, time)
    state.free[core] = then
    push_event(state, then * facts.keys + facts.loading + core)


def run_lane(facts: Facts, code: Code, state: State, core: int, origin: int) -> None:
    """The current lane runs as if it had begun at ``origin`` and nothing had come between."""
    state.origin[core] = origin
    push_end(facts, code, state, state.current[core], origin)


def push_end(facts: Facts, code: Code, state: State, lane: int, origin: int) -> None:
    """When a lane ends if nothing comes between any more."""
    push_event(state, (origin + code.cycles[code.batch[lane]]) * facts.keys + 2 * code.place[lane] + 1)


def end_lane(facts: Facts, code: Code, state: State, lane: int, time: int) -> None:
    """A lane has run, unless it has been stopped or held up."""
    core = code.core[lane]
    if state.current[core] != lane:
        return
    if time < state.origin[core] + code.cycles[code.batch[lane]]:
        push_end(facts, code, state, lane, state.origin[core])
        return
    state.current[core], state.origin[core] = NONE, NONE
    state.finish[lane] = time
    state.free[core] = max(state.free[core], time)
    if facts.leads:
        finish_reads(facts, code, state, lane, time)
    if code.follower[lane] != NONE:
        push_event(state, time * facts.keys + 2 * code.place[code.follower[lane]])
    distribute(facts, code, state, lane, time)


def finish_reads(facts: Facts, code: Code, state: State, lane: int, time: int) -> None:
    """A lane has read its rows: batches that the lead holds back may go on."""
    for number in range(code.read_first[lane + 1] - code.read_first[lane]):
        row = code.rows_read[code.read_first[lane] + number]
        state.unread[row] -= 1
        if state.unread[row] == 0 and state.held_at[row] != NONE:
            release(facts, code, state, row, time)


def held_lane(code: Code, row: int) -> int:
    """The lane that is held back behind a row of its batch."""
    return row + code.lead[code.batch[row]]


def release(facts: Facts, code: Code, state: State, row: int, time: int) -> None:
    """The lane that is held back behind a row is ready."""
    last = state.held[state.chip[HELD] - 1]
    state.chip[HELD] -= 1
    state.held[state.held_at[row]] = last
    state.held_at[last] = state.held_at[row]
    state.held_at[row] = NONE
    push_event(state, time * facts.keys + 2 * code.place[held_lane(code, row)])
