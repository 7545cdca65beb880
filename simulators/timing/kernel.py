"""The event loop: cores, units, switches and memories in simulated time.

Written in the part of Python that numba compiles (:mod:`.compiled`), so all state is in flat lists or arrays of
numbers; everything stands in this one file because numba's cache on disk notices changes of one file only. The
tables below say what each of them holds. Times are picoseconds.

Order is what this file is about. At one instant, first the waits that end then go on, in the order in which they began;
then the clock's edge happens on one core after another; then what these woke goes on, round after round; and a wait of
no time goes on after all of that. A *thread* is a unit or a switch; its number is ``core * units + unit``, and after
all those of units come those of switches, one a core.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

Numbers = list[int]
"""A list, or an array for the compiled loop."""
Reals = list[float]

NEVER = 1 << 62
EDGE = 1 << 60
"""From here on, an event's order says that it is a core's edge."""

BUBBLE, MATRIX, VECTOR, FILL, COPY, LOAD, STORE, SEND, RECV, SYNC, WAIT = range(11)
"""Kinds of elements: :class:`.elements.Kind`."""

TRANSFER_UNIT, VECTOR_UNIT, FIRST_GROUP = 0, 1, 2
"""Units of a core; from ``FIRST_GROUP`` on its array groups."""

BEGIN, SECOND, STORE_DATA, SEND_READ, SEND_DATA, STORED, EVENT_DONE, ENDED = range(8)
"""Where a unit's instruction goes on."""

CLOCK, PROGRESS = -1, -2
"""Threads of the simulator itself, which matter when its heap is modelled: the clock and the progress bar."""

TAKE, ARRIVE, REPLY = range(3)
"""Where a switch goes on."""

REQUEST, READY, DATA, SIGNAL, GLOBAL = range(5)
"""Kinds of messages."""

ISSUE, GROUP_START, FINISH, RETIRE, SETTLE = range(5)
"""What happens at an edge, in this order."""

SPENT = 12
SCALAR_TIME, MATRIX_TIME, VECTOR_TIME, LOCAL_TIME, GLOBAL_TIME, GLOBAL_QUEUE = range(6)
SEND_WAIT, SEND_TIME, RECV_WAIT, RECV_TIME, EVENT_TIME, FINISHED_TIME = range(6, 12)
"""What a core's time is spent on."""

EVENTS = 32
REGISTERS = 32
SADD, SSUB, SMUL, SADDI, SMULI, SLDI, SETBW, SLD = 3, 4, 5, 6, 7, 2, 1, 31
"""Codes of the scalar instructions, as in the instruction set's table."""


class Facts(NamedTuple):
    """Numbers of the machine and of the run."""

    period: int
    cores: int
    units: int
    """Units a core: transfer, vector and the most array groups of any core."""
    rob_size: int
    looped: int
    interprets: int
    """Whether scalar instructions are elements and executed, register by register."""
    checks: int
    """Whether the reorder buffer's conflicts matter."""
    request_delay: int
    late: int
    younger_first: int
    sees_write_after_write: int
    repeats: int
    progress: int
    """0, or the time between steps of the simulator's progress bar: then its heap of events is modelled."""


class Code(NamedTuple):
    """The program. Per element unless said otherwise."""

    first: Numbers
    """Where each core's elements begin, and where the last's end."""
    loop: Numbers
    """Per core, the element after its last when looped."""
    kind: Numbers
    gap: Numbers
    marks: Numbers
    peer: Numbers
    group: Numbers
    event: Numbers
    value: Numbers
    first_ps: Numbers
    compute_ps: Numbers
    second_ps: Numbers
    flight_ps: Numbers
    reply_ps: Numbers
    global_ps: Numbers
    flight_pj: Reals
    global_pj: Reals
    flit_ps: Numbers
    """From core to core, row by row; the last row and column are global memory."""
    flit_pj: Reals
    op: Numbers
    rd: Numbers
    rs1: Numbers
    rs2: Numbers
    imm: Numbers
    double: Numbers
    spans: Numbers
    """Six an element: begin and end of the two ranges that it reads and of the one that it writes."""
    range_register: Numbers
    """Three an element, for programs that are interpreted; then ``spans`` is not used."""
    range_offset: Numbers
    range_length: Numbers


class State(NamedTuple):
    """Everything that changes. Per core unless said otherwise; begins as zeros but for what ``begin`` sets."""

    next: Numbers
    """The element that the front end holds."""
    base: Numbers
    """The edge from which its gap counts, or -1 while the reorder buffer is full."""
    scheduled: Numbers
    last_issue: Numbers
    head: Numbers
    in_flight: Numbers
    rob_element: Numbers
    """Per core and entry."""
    rob_open: Numbers
    rob_span: Numbers
    pending_span: Numbers
    unit_element: Numbers
    """Per unit."""
    unit_entry: Numbers
    unit_busy: Numbers
    unit_stage: Numbers
    unit_since: Numbers
    waiting_group: Numbers
    """The element in front of the array groups, or -1."""
    waiting_entry: Numbers
    last_commit: Numbers
    """Of the matrix unit: one leaves it in a cycle."""
    local_free: Numbers
    send_to: Numbers
    receive_from: Numbers
    asked: Numbers
    """Per sender and receiver: the request has come and is unanswered."""
    events: Numbers
    """Per core and event."""
    awaited_event: Numbers
    awaited_value: Numbers
    switch_stage: Numbers
    switch_idle: Numbers
    switch_message: Numbers
    queue_first: Numbers
    queue_last: Numbers
    transfer_since: Numbers
    wait_from: Numbers
    wait_until: Numbers
    accounted: Numbers
    spent: Numbers
    """Per core and use of time."""
    started: Numbers
    """Per element: how often it began, and how often it came to its second memory access."""
    seconded: Numbers
    departed: Numbers
    waited: Numbers
    """Per element: the part of its core's time that it waited for a partner or for global memory."""
    finish: Numbers
    mark_count: Numbers
    mark_time: Numbers
    left: Numbers
    """When the front end passed its last element on."""
    issued: Numbers
    transfer_busy: Numbers
    vector_busy: Numbers
    matrix_busy: Numbers
    group_busy: Numbers
    """Of all groups together."""
    groups_active: Numbers
    groups_since: Numbers
    local_busy: Numbers
    switch_busy: Numbers
    switch_since: Numbers
    registers: Numbers
    port: Numbers
    """Per core, eleven numbers about the register file: see ``decode``."""
    last_write: Numbers
    """Per core two: register and value."""
    evaluations: Numbers
    """Per core four: of decode, of register reads, of register writes, of the scalar unit."""
    chip: Numbers
    """The chip's own: next order of a wait, when global memory is free, its busy time, first free message."""
    network_pj: Reals
    global_pj: Reals


ORDER, GLOBAL_FREE, GLOBAL_BUSY, FREE_MESSAGE = range(4)
PORT = 11
DECODES, READS, WRITES, SCALARS = range(4)


class Queues(NamedTuple):
    """What grows and shrinks."""

    heap: list[tuple[int, int, int]]
    """Time, order, and what: of a wait the thread and whether it goes on before the clock; of an edge its argument."""
    wait_time: list[int]
    """The simulator's own heap, if that is modelled: of all waits, of the clock and of the progress bar."""
    wait_thread: list[int]
    woken: list[int]
    """Threads that go on in the next round."""
    later: list[int]
    """Threads that go on after a wait of no time."""
    message_kind: list[int]
    message_core: list[int]
    message_element: list[int]
    message_next: list[int]


def run(facts: Facts, code: Code, state: State, limit: int) -> int:
    """Executes everything that happens before ``limit``; 1 if something would have happened later."""
    heap = [(0, 0, 0)]
    heap.pop()
    woken, later, kinds, cores, elements, nexts = [0], [0], [0], [0], [0], [0]
    woken.pop()
    later.pop()
    times, threads = [0], [0]
    times.pop()
    threads.pop()
    queues = Queues(heap, times, threads, woken, later, kinds, cores, elements, nexts)
    state.chip[FREE_MESSAGE] = -1
    begin(facts, code, state, queues)
    if facts.progress:
        return run_with_heap(facts, code, state, queues, limit)
    while len(heap) > 0:
        now = heap[0][0]
        if now >= limit:
            return 1
        instant(facts, code, state, queues, now)
    return 0


def run_with_heap(facts: Facts, code: Code, state: State, queues: Queues, limit: int) -> int:
    """The same with the simulator's order of simultaneous events: that in which they leave its heap.

    Every edge and every step of the progress bar goes through the heap, since they move what else is there.
    """
    times = queues.wait_time
    insert_wait(queues, facts.progress, PROGRESS)
    insert_wait(queues, facts.period, CLOCK)
    while len(queues.heap) > 0 or len(times) > 2:
        if queues.wait_thread[0] == CLOCK:
            skip_idle_ticks(facts, queues, limit)
        now = times[0]
        if now >= limit:
            return 1
        threads = [0]
        threads.pop()
        while times[0] == now:
            threads.append(extract_wait(queues))
            if len(times) == 0:
                break
        ticked = 0
        for thread in threads:
            if thread == CLOCK:
                ticked = 1
                insert_wait(queues, now + facts.period, CLOCK)
            elif thread == PROGRESS:
                insert_wait(queues, now + facts.progress, PROGRESS)
            else:
                go_on(facts, code, state, queues, thread, 1 - ticked, now)
        rest_of_instant(facts, code, state, queues, now)
    return 0


def skip_idle_ticks(facts: Facts, queues: Queues, limit: int) -> None:
    """Moves the clock, which is on top of the simulator's heap, on to the next tick at which something else happens.

    A tick takes the clock out of the heap, where the last entry sinks from the top instead, and puts it back as the
    last one, from where it rises to the top. After the first such tick each undoes itself, but for ties on the path
    from the top to the last entry:

    - If the last entry is as late as another one of the path, it sinks no deeper than that: from there to the last
      place, all of which are alike, entries move on by one place.
    - If an entry of the path is as late as its left sibling, that one rises in its place. The path is without it
      then, so that this happens a few times only.
    """
    times, period = queues.wait_time, facts.period
    until = times[1] - 1
    if len(times) > 2:
        until = min(until, times[2] - 1)
    if len(queues.heap) > 0:
        until = min(until, queues.heap[0][0])
    idle = (min(until, limit) - times[0]) // period
    settled = 0
    while idle > 0 and not settled:
        idle -= 1
        now = times[0]
        extract_wait(queues)
        insert_wait(queues, now + period, CLOCK)
        settled = 1
        last = len(times) - 1
        depth = 0
        while (last + 1) >> (depth + 1) > 1:
            depth += 1
        while depth > 0 and settled:
            place = ((last + 1) >> depth) - 1
            if times[place] == times[last]:
                turns = idle % (depth + 1)
                while turns > 0:
                    turns -= 1
                    turn(queues, last, depth)
                depth = 0
            elif place & 1 == 0 and times[place - 1] == times[place]:
                settled = 0
            depth -= 1
    if idle > 0:
        times[0] += idle * period


def turn(queues: Queues, last: int, depth: int) -> None:
    """Moves the entries of the last place and of so many of its ancestors down by one, and the last to their top."""
    threads = queues.wait_thread
    thread = threads[last]
    above = 0
    while above < depth:
        threads[((last + 1) >> above) - 1] = threads[((last + 1) >> (above + 1)) - 1]
        above += 1
    threads[((last + 1) >> depth) - 1] = thread


def insert_wait(queues: Queues, time: int, thread: int) -> None:
    """Into the binary heap, up as far as the parents are later."""
    times, threads = queues.wait_time, queues.wait_thread
    times.append(time)
    threads.append(thread)
    place = len(times) - 1
    while place > 0:
        parent = (place - 1) >> 1
        if times[parent] <= time:
            break
        times[place], threads[place] = times[parent], threads[parent]
        place = parent
    times[place], threads[place] = time, thread


def extract_wait(queues: Queues) -> int:
    """The heap's first thread. The last entry takes its place and sinks, to the left when both children are alike."""
    times, threads = queues.wait_time, queues.wait_thread
    first = threads[0]
    time, thread = times.pop(), threads.pop()
    count = len(times)
    if count == 0:
        return first
    place = 0
    while 2 * place + 1 < count:
        child = 2 * place + 1
        if child + 1 < count and times[child + 1] < times[child]:
            child += 1
        if times[child] >= time:
            break
        times[place], threads[place] = times[child], threads[child]
        place = child
    times[place], threads[place] = time, thread
    return first


def begin(facts: Facts, code: Code, state: State, queues: Queues) -> None:
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
        if code.first[core] < code.first[core + 1]:
            if facts.interprets:
                arrive(code, state, core, code.first[core])
                state.evaluations[4 * core + DECODES] = 1
                decode(facts, code, state, core, code.first[core], following(facts, code, core, code.first[core]), 1)
            elif facts.checks:
                load_spans(code, state, core, code.first[core])
            edge_at(queues, 2 * facts.period, core, SETTLE, 0)
        else:
            state.left[core] = 0


def instant(facts: Facts, code: Code, state: State, queues: Queues, now: int) -> None:
    """Everything that happens at one instant."""
    heap = queues.heap
    while len(heap) > 0 and heap[0][0] == now and heap[0][1] < EDGE:
        _, _, what = heappop(heap)
        go_on(facts, code, state, queues, what >> 1, what & 1, now)
    rest_of_instant(facts, code, state, queues, now)


def rest_of_instant(facts: Facts, code: Code, state: State, queues: Queues, now: int) -> None:
    """The edge, and what goes on because of it and of what happened before."""
    heap, woken, later = queues.heap, queues.woken, queues.later
    at_edge = -1
    while len(heap) > 0 and heap[0][0] == now:
        _, order, what = heappop(heap)
        core = (order - EDGE) >> 3
        if core != at_edge:
            if at_edge >= 0:
                settle(facts, code, state, queues, at_edge, now)
            at_edge = core
        edge(facts, code, state, queues, core, (order - EDGE) & 7, what, now)
    if at_edge >= 0:
        settle(facts, code, state, queues, at_edge, now)
    while len(woken) > 0 or len(later) > 0:
        if len(woken) > 0:
            threads = woken[:]
            woken.clear()
        else:
            threads = later[::-1]
            later.clear()
        for thread in threads:
            go_on(facts, code, state, queues, thread, 0, now)


# The edge of one core


def edge(facts: Facts, code: Code, state: State, queues: Queues, core: int, what: int, argument: int, now: int) -> None:
    """One of the things that can happen to a core at an edge."""
    if not facts.younger_first and what <= GROUP_START:
        what = GROUP_START - what
    if what == ISSUE:
        issue(facts, code, state, queues, core, now)
    elif what == GROUP_START:
        thread = core * facts.units + argument
        state.unit_busy[thread] = 1
        state.unit_stage[thread] = BEGIN
        queues.woken.append(thread)
    elif what == FINISH:
        finish(facts, state, core, argument, now)
    elif what == RETIRE:
        retire(facts, code, state, core, argument, now)


def issue(facts: Facts, code: Code, state: State, queues: Queues, core: int, now: int) -> None:
    """The element leaves the front end: into the reorder buffer and to its unit."""
    element = state.next[core]
    kind = code.kind[element]
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
            queues.woken.append(thread)
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


def following(facts: Facts, code: Code, core: int, element: int) -> int:
    """The element after this one, or -1."""
    if element + 1 < code.first[core + 1]:
        return element + 1
    return code.loop[core] if facts.looped else -1


def finish(facts: Facts, state: State, core: int, unit: int, now: int) -> None:
    """A unit is ready for another instruction."""
    thread = core * facts.units + unit
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


def settle(facts: Facts, code: Code, state: State, queues: Queues, core: int, now: int) -> None:
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
            edge_at(queues, now + facts.period, core, what, FIRST_GROUP + code.group[element])
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
    edge_at(queues, max(arrival, now) + facts.period, core, what, 0)


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


# Threads


def go_on(facts: Facts, code: Code, state: State, queues: Queues, thread: int, before: int, now: int) -> None:
    """A thread goes on; ``before`` the clock of this instant or after."""
    switches = facts.cores * facts.units
    if thread >= switches:
        switch(facts, code, state, queues, thread - switches, before, now)
        return
    core, unit = thread // facts.units, thread % facts.units
    element = state.unit_element[thread]
    stage = state.unit_stage[thread]
    if stage == BEGIN:
        start(facts, code, state, queues, core, unit, now)
    elif stage == SECOND:
        state.receive_from[core] = -1 if unit == TRANSFER_UNIT else state.receive_from[core]
        state.seconded[element] += 1
        delay = local_memory(state, core, code.second_ps[element], now)
        last_wait(facts, state, queues, core, unit, delay, before, now)
    elif stage == STORE_DATA:
        put(facts, state, queues, core, GLOBAL, facts.cores, element)
        state.unit_stage[thread] = STORED
    elif stage == SEND_READ:
        state.started[element] += 1
        state.unit_stage[thread] = SEND_DATA
        sleep(facts, state, queues, thread, local_memory(state, core, code.first_ps[element], now), before, now)
    elif stage == SEND_DATA:
        put(facts, state, queues, core, DATA, code.peer[element], element)
        state.send_to[core] = -1
        end(facts, state, queues, core, unit, this_edge(facts, now, before))
    else:
        if stage == EVENT_DONE:
            state.events[core * EVENTS + code.event[element]] = 0
            state.awaited_event[core] = -1
        end(facts, state, queues, core, unit, this_edge(facts, now, before))


def start(facts: Facts, code: Code, state: State, queues: Queues, core: int, unit: int, now: int) -> None:
    """A unit begins an instruction."""
    thread = core * facts.units + unit
    element = state.unit_element[thread]
    kind = code.kind[element]
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
        delay = local_memory(state, core, code.first_ps[element], now) + code.compute_ps[element]
        sleep(facts, state, queues, thread, delay, 0, now)
    elif kind in (FILL, COPY):
        state.started[element] += 1
        state.seconded[element] += 1
        delay = local_memory(state, core, code.first_ps[element] + code.second_ps[element], now)
        last_wait(facts, state, queues, core, unit, delay, 0, now)
    elif kind == LOAD:
        state.unit_stage[thread] = SECOND
        put(facts, state, queues, core, GLOBAL, facts.cores, element)
    elif kind == STORE:
        state.started[element] += 1
        state.unit_stage[thread] = STORE_DATA
        sleep(facts, state, queues, thread, local_memory(state, core, code.first_ps[element], now), 0, now)
    elif kind == SEND:
        state.unit_stage[thread] = SEND_READ
        state.send_to[core] = code.peer[element]
        put(facts, state, queues, core, REQUEST, code.peer[element], element)
    elif kind == RECV:
        start_receiving(facts, code, state, queues, core, now)
    elif kind == SYNC:
        put(facts, state, queues, core, SIGNAL, code.peer[element], element)
        last_wait(facts, state, queues, core, unit, facts.period, 0, now)
    else:
        event = core * EVENTS + code.event[element]
        if state.events[event] == code.value[element]:
            state.events[event] = 0
            end(facts, state, queues, core, unit, this_edge(facts, now, 0))
        else:
            state.unit_stage[thread] = EVENT_DONE
            state.awaited_event[core] = code.event[element]
            state.awaited_value[core] = code.value[element]


def start_receiving(facts: Facts, code: Code, state: State, queues: Queues, core: int, now: int) -> None:
    """``recv`` answers a sender that has asked, or waits for it to ask."""
    thread = core * facts.units + TRANSFER_UNIT
    sender = code.peer[state.unit_element[thread]]
    state.unit_stage[thread] = SECOND
    if sender >= 0 and state.asked[sender * facts.cores + core]:
        state.asked[sender * facts.cores + core] = 0
        state.receive_from[core] = sender
        state.wait_until[sender] = now
        put(facts, state, queues, core, READY, sender, 0)
    else:
        state.receive_from[core] = sender
        state.wait_from[core] = now
        state.wait_until[core] = NEVER


def local_memory(state: State, core: int, service: int, now: int) -> int:
    """Asks a core's memory for so much service; the time until it is done."""
    begin_at = max(state.local_free[core], now)
    state.local_free[core] = begin_at + service
    state.local_busy[core] += service
    return begin_at + service - now


def sleep(facts: Facts, state: State, queues: Queues, thread: int, delay: int, before: int, now: int) -> None:
    """The thread goes on after ``delay``: before the clock of that instant if its wait began before the clock's."""
    if delay == 0:
        queues.later.append(thread)
        return
    if facts.progress:
        insert_wait(queues, now + delay, thread)
        return
    early = delay > facts.period or (delay == facts.period and before == 1)
    state.chip[ORDER] += 1
    heappush(queues.heap, (now + delay, state.chip[ORDER], thread * 2 + (1 if early else 0)))


def last_wait(
    facts: Facts, state: State, queues: Queues, core: int, unit: int, delay: int, before: int, now: int
) -> None:
    """A unit's last wait: its end is known at once, unless the heap says whether it is before the clock."""
    if facts.progress:
        thread = core * facts.units + unit
        state.unit_stage[thread] = ENDED
        sleep(facts, state, queues, thread, delay, before, now)
    else:
        end(facts, state, queues, core, unit, end_edge(facts, now, delay, before))


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


def end(facts: Facts, state: State, queues: Queues, core: int, unit: int, at: int) -> None:
    """The unit's instruction is executed: ready at that edge, out of the reorder buffer at the next."""
    edge_at(queues, at, core, FINISH, unit)
    commit = at
    if unit >= FIRST_GROUP:
        commit = max(at, state.last_commit[core] + facts.period)
        state.last_commit[core] = commit
    edge_at(queues, commit + facts.period, core, RETIRE, state.unit_entry[core * facts.units + unit])


def edge_at(queues: Queues, time: int, core: int, what: int, argument: int) -> None:
    """Something happens to a core at an edge."""
    heappush(queues.heap, (time, EDGE + core * 8 + what, argument))


# The network


def put(facts: Facts, state: State, queues: Queues, core: int, kind: int, target: int, element: int) -> None:
    """A message into the core's switch, behind those that are there."""
    message = state.chip[FREE_MESSAGE]
    if message < 0:
        message = len(queues.message_kind)
        queues.message_kind.append(kind)
        queues.message_core.append(target)
        queues.message_element.append(element)
        queues.message_next.append(-1)
    else:
        state.chip[FREE_MESSAGE] = queues.message_next[message]
        queues.message_kind[message] = kind
        queues.message_core[message] = target
        queues.message_element[message] = element
        queues.message_next[message] = -1
    if state.queue_first[core] < 0:
        state.queue_first[core] = message
    else:
        queues.message_next[state.queue_last[core]] = message
    state.queue_last[core] = message
    if state.switch_idle[core]:
        state.switch_idle[core] = 0
        queues.woken.append(facts.cores * facts.units + core)


def switch(facts: Facts, code: Code, state: State, queues: Queues, core: int, before: int, now: int) -> None:
    """A core's switch: one message after another, each for its whole flight."""
    thread = facts.cores * facts.units + core
    message = state.switch_message[core]
    if state.switch_stage[core] == ARRIVE:
        delay = deliver(facts, code, state, queues, core, message, now)
        state.switch_stage[core] = REPLY if queues.message_kind[message] == GLOBAL else TAKE
        if state.switch_stage[core] == TAKE:
            release(state, queues, message)
            state.switch_busy[core] += now + delay - state.switch_since[core]
        sleep(facts, state, queues, thread, delay, before, now)
        return
    if state.switch_stage[core] == REPLY:
        queues.woken.append(core * facts.units + TRANSFER_UNIT)
        release(state, queues, message)
        state.switch_busy[core] += now - state.switch_since[core]
        state.switch_stage[core] = TAKE
    message = state.queue_first[core]
    if message < 0:
        state.switch_idle[core] = 1
        return
    state.queue_first[core] = queues.message_next[message]
    state.switch_message[core] = message
    state.switch_stage[core] = ARRIVE
    state.switch_since[core] = now
    kind, element = queues.message_kind[message], queues.message_element[message]
    if kind in (DATA, GLOBAL):
        flight = code.flight_ps[element]
        state.network_pj[core] += code.flight_pj[element]
    else:
        line = core * (facts.cores + 1) + queues.message_core[message]
        flight = code.flit_ps[line]
        state.network_pj[core] += code.flit_pj[line]
    sleep(facts, state, queues, thread, flight, before, now)


def release(state: State, queues: Queues, message: int) -> None:
    """The message's place can be used again."""
    queues.message_next[message] = state.chip[FREE_MESSAGE]
    state.chip[FREE_MESSAGE] = message


def deliver(facts: Facts, code: Code, state: State, queues: Queues, core: int, message: int, now: int) -> int:
    """A message of the core has arrived; how long it still holds the core's switch."""
    kind = queues.message_kind[message]
    target = queues.message_core[message]
    element = queues.message_element[message]
    if kind == GLOBAL:
        begin_at = max(state.chip[GLOBAL_FREE], now)
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
            put(facts, state, queues, target, READY, core, 0)
        else:
            state.wait_until[core] = NEVER
            state.asked[core * facts.cores + target] = 1
        return facts.request_delay
    if kind == READY:
        if state.send_to[target] == core:
            queues.woken.append(unit)
    elif kind == DATA:
        if state.receive_from[target] == core:
            queues.woken.append(unit)
    else:
        event = code.event[element]
        state.events[target * EVENTS + event] += 1
        if event == state.awaited_event[target]:
            if state.events[target * EVENTS + event] == state.awaited_value[target]:
                queues.woken.append(unit)
    return 0


# Where the time goes


def account(code: Code, state: State, core: int, rob_size: int, now: int) -> None:
    """The core's time up to now goes to the oldest instruction that it had in flight, or to the front end."""
    since = state.accounted[core]
    state.accounted[core] = now
    spent = core * SPENT
    if state.in_flight[core] == 0:
        state.spent[spent + SCALAR_TIME] += now - since
        return
    element = state.rob_element[core * rob_size + state.head[core]]
    kind = code.kind[element]
    if kind <= VECTOR:
        state.spent[spent + kind] += now - since
    elif kind <= COPY:
        state.spent[spent + LOCAL_TIME] += now - since
    elif kind >= SYNC:
        state.spent[spent + EVENT_TIME] += now - since
    else:
        own = GLOBAL_TIME
        waiting = GLOBAL_QUEUE
        if kind == SEND:
            own, waiting = SEND_TIME, SEND_WAIT
        elif kind == RECV:
            own, waiting = RECV_TIME, RECV_WAIT
        waited = max(0, min(now, state.wait_until[core]) - max(since, state.wait_from[core]))
        state.waited[element] += waited
        state.spent[spent + waiting] += waited
        state.spent[spent + own] += now - since - waited


# Decode, for programs whose registers have to be followed


def decode(facts: Facts, code: Code, state: State, core: int, element: int, upcoming: int, held: int) -> None:
    """The element leaves decode after so many cycles there, and the upcoming one (or none: -1) arrives.

    A scalar instruction executes in each of these cycles in which its operands changed. The register file's port
    (``port``) holds what was read last: addresses of rd, rs1, rs2 and whether double words, then five values, and the
    last write; the simulator takes energy for every evaluation of these, which are counted as it makes them.
    """
    port = core * PORT
    counts = core * 4
    last_first, last_second = 0, 0
    cycle = 1
    while cycle <= held:
        leaves = cycle == held
        changed = 0
        if state.port[port + 10]:
            state.evaluations[counts + READS] += 1
        if code.kind[element] == BUBBLE and code.op[element] != SETBW:
            first, second = operands(code, state, core, element)
            if cycle == 1 or (facts.repeats and (first != last_first or second != last_second)):
                state.evaluations[counts + SCALARS] += 1
                changed = execute(code, state, core, element, first, second)
                last_first, last_second = first, second
        settled = changed == 0 and state.port[port + 10] == 0
        state.port[port + 10] = changed
        moved = 0
        if leaves and upcoming >= 0:
            state.evaluations[counts + DECODES] += 1
            moved = address(code, state, core, upcoming)
        if changed or moved:
            state.evaluations[counts + READS] += 1
            if read(state, core) and (upcoming >= 0 or not leaves):
                state.evaluations[counts + DECODES] += 1
        cycle = held if settled and cycle < held - 1 else cycle + 1
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


def arrive(code: Code, state: State, core: int, element: int) -> None:
    """The first instruction arrives at decode."""
    for register in range(REGISTERS):
        state.registers[core * REGISTERS + register] = 0
    state.evaluations[core * 4 + READS] = 1
    state.evaluations[core * 4 + WRITES] = 1
    if address(code, state, core, element):
        state.evaluations[core * 4 + READS] += 1


def operands(code: Code, state: State, core: int, element: int) -> tuple[int, int]:
    """The values of a scalar instruction's sources."""
    registers = core * REGISTERS
    first = state.registers[registers + code.rs1[element]]
    second = state.registers[registers + code.rs2[element]]
    return first, second


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
    registers = core * REGISTERS
    changed = 0
    for place in range(5):
        which = (port, port + 1, port + 2, port, port + 1)[place]
        number = state.port[which]
        value = 0
        if (place < 2 and state.port[port + 3] == 0) or place == 2:
            value = state.registers[registers + number]
        elif place > 2 and state.port[port + 3]:
            low = state.registers[registers + number + 1] if number + 1 < REGISTERS else 0
            value = state.registers[registers + number] * (1 << 32) + low % (1 << 32)
        if state.port[port + 4 + place] != value:
            state.port[port + 4 + place] = value
            changed = 1
    return changed
