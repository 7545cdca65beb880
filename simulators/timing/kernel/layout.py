"""What the event loop works on: the machine's numbers, the program and the state, all in flat lists or arrays.

Interpreted they are lists, which Python indexes fastest; compiled (:mod:`..compiled`) they are arrays. Times are
picoseconds. A *thread* is a unit or a switch; its number is ``core * units + unit``, and after all those of units come
those of switches, one a core.
"""

from __future__ import annotations

from typing import NamedTuple

from ....codegen.isa import EVENT_COUNT, REGISTER_COUNT, Op
from ....codegen.json_reader import SLD as SLD

Numbers = list[int]
"""A list, or an array for the compiled loop."""
Reals = list[float]

NEVER = 1 << 62

EDGE = 1 << 60
"""From here on, a key in the heap of edges is one: to it are added core, kind (three bits) and argument."""
ARGUMENT_BITS = 20
THREAD_BITS = 24
"""Below, a key is the order of a wait, its thread, and one bit: whether it goes on before the clock."""

DONE, CUT, NO_ROOM = range(3)
"""How the loop ends: nothing is left to happen, or something after the limit, or a queue of the state is too short."""

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

EVENTS = EVENT_COUNT
REGISTERS = REGISTER_COUNT
SADD, SSUB, SMUL, SADDI, SMULI = int(Op.SADD), int(Op.SSUB), int(Op.SMUL), int(Op.SADDI), int(Op.SMULI)
SLDI, SETBW = int(Op.SLDI), int(Op.SETBW)
"""Codes of the scalar instructions; ``SLD``, of streams only, is another."""


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
    heap_order: int
    """Whether the simulator's heap of events is modelled; otherwise waits are first come, first served."""
    progress: int
    """The time between steps of the simulator's progress bar, which are in its heap."""
    stop: int
    """When the simulator stops: the run's limit, or without one the machine file's ``sim_time``."""
    records: int
    """Whether ``moments`` are noted."""
    room: int
    """Of ``woken``, ``later`` and ``turn``."""
    edge_room: int
    message_room: int


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
    """The chip's own: see the names below."""
    network_pj: Reals
    global_pj: Reals
    edge_time: Numbers
    """A heap of ``edge_room`` places."""
    edge_key: Numbers
    wait_time: Numbers
    """The simulator's own heap: all threads, the clock and the progress bar."""
    wait_thread: Numbers
    woken: Numbers
    """Threads that go on in the next round."""
    later: Numbers
    """Threads that go on after a wait of no time."""
    turn: Numbers
    """Threads that go on in this round."""
    message_kind: Numbers
    """Per message, of which ``message_room`` fit."""
    message_core: Numbers
    message_element: Numbers
    message_next: Numbers
    moments: Numbers
    """Per element ``MOMENTS`` numbers, when each of what is named below happened, or -1; nothing unless recorded."""


ORDER, GLOBAL_FREE, GLOBAL_BUSY, FREE_MESSAGE, MESSAGES, EDGES, WAITS, WOKEN, LATER, OVERFLOW = range(10)
"""The next order of a wait; when global memory is free, and its busy time; the first of the free messages, and how many
places for messages have ever been used; entries of both heaps and of ``woken`` and ``later``; whether something had no
room."""
CHIP = 10
BASE_AT, ISSUE_AT, BEGIN_AT, FIRST_AT, SECOND_AT, END_AT, DONE_AT, CALL_AT, DATA_AT, SERVE_AT = range(10)
"""The front end takes what has been folded before the element, and passes the element on; its unit begins; local memory
serves its first and its second access; its unit is ready again; it may leave the reorder buffer; the core's switch
takes its handshake, and its data or its request to global memory; global memory serves it."""
MOMENTS = 10
PORT = 11
DECODES, READS, WRITES, SCALARS = range(4)
STEADY = 64
"""After so many cycles in decode, a scalar instruction does in every cycle what it still does: see ``registers``."""
