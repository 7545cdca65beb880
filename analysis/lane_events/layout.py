"""What the event loop works on: lanes, rows, loads and cores in flat columns.

Interpreted they are lists, which Python indexes fastest; compiled they are arrays. Lanes, and the rows that they
compute, are numbered through all batches, k uses of rows are grouped by row, and so on; whatever has no core, lane or
time yet has `NONE`.

An event is one number, ``time * facts.keys + key``: at equal times, lanes that are ready or end come first, by urgency,
then loads, so that messages find lanes that start with them, then messages, by urgency, then free cores. Keys are

- ``2 * place`` of a lane that is ready, and 1 more for one that ends,
- ``facts.loading + core`` for a core that may load,
- ``facts.sending + place * cores + core``, the place of the reader of the row that a core sends,
- ``facts.starting + core`` for a core that may start a lane,
- ``facts.fetching`` for a core that has nothing to do but to fetch constants.

There is never more than one event for each lane, and one for all that fetch: a lane that becomes ready makes one, and
every other event follows on one that is over.
"""

from __future__ import annotations

from typing import NamedTuple

from ...support.kernel_columns import Numbers

NONE = -1

UNBOUNDED = 1 << 30
"""A lead that holds nothing back."""

PATIENCE = 2000
"""Cycles, about one product, that a core waits to send the most urgent row rather than another, and that have to remain
of a lane for a more urgent one to be put in between. More keeps to the order of urgency, less keeps cores busy and
reacts sooner. (+0.8 %, -0.5 %)"""

COURTESY = 100
"""Cycles that a core waits at least between two instructions for a message that is about to come. More has cores idle,
less has senders wait for the end of an instruction. (+0.9 %, +0.1 %)"""

EVENTS, HELD, RESUMES, PORT, INPUTS, FETCHES, FETCHING, READY = range(8)
"""Of the chip: how many events are to come, how many lanes the lead holds back, how often lanes went on after an
interruption, until when the port of global memory is taken, how many rows of inputs are still to be loaded, from
when on constants may be fetched again, whether there is an event for that, and how many lanes have become ready."""
CHIP = 8


class Facts(NamedTuple):
    """Numbers of the schedule."""

    cores: int
    leads: int
    """1 if any batch has a lead, 0 if nothing is held back."""
    keys: int
    """More than any key of an event."""
    loading: int
    sending: int
    starting: int
    fetching: int
    constants: int
    """Items of loads below this are constants."""
    gap: int
    """From a load to the next constant that is fetched, in times that the port takes for it."""
    courtesy: int
    """Cycles that a core waits between two instructions for a message that is about to come."""
    as_rows_come: int
    """1 if a core runs its lanes in the order in which they become ready, 0 if in that of urgency."""


class Code(NamedTuple):
    """What is to be scheduled."""

    core: Numbers
    """Of each lane."""
    batch: Numbers
    """Of each lane."""
    place: Numbers
    """Of each lane in the order of urgency, and"""
    lane_at: Numbers
    """the reverse."""
    first: Numbers
    """The first lane of each batch."""
    lead: Numbers
    """Of each batch: how many rows it may be ahead of its slowest reader."""
    follower: Numbers
    """Of each lane: the one that becomes ready when it ends, which reads no rows; or `NONE`."""
    cycles: Numbers
    """Of a lane of each batch, without transfers."""
    begins_first: Numbers
    """Of each batch, and one more: where its instructions begin in"""
    begins: Numbers
    """at which of a lane's cycles instructions begin; last, its end."""
    waiting_first: Numbers
    """Of each core: where its heap of waiting lanes begins. A lane is in it once for being ready, and once more each
    time that one that becomes ready stops it."""

    use_first: Numbers
    """Of each lane, and one more: the first use of its row. A use is a core that reads the row."""
    use_core: Numbers
    use_place: Numbers
    """The place of the most urgent reader there."""
    by_urgency: Numbers
    """The uses of each row, most urgent first."""
    reader_first: Numbers
    """Of each use, and one more: where it begins in"""
    readers: Numbers
    """the lanes that read a row on a core."""
    send: Numbers
    """Cycles of each use: how long its message occupies the sender,"""
    receive: Numbers
    """the receiver,"""
    flight: Numbers
    """and then the network."""

    request: Numbers
    """Of each core: how long a request takes to global memory."""
    load_first: Numbers
    """Of each lane, and one more: the first of its loads."""
    load_item: Numbers
    """What each load is for: a constant, or a row of the network's inputs, on a core. Loaded once."""
    load_cycles: Numbers
    """How long it takes the core,"""
    load_port: Numbers
    """and how long it takes the port."""
    fetch_first: Numbers
    """Of each core, and one more: where the lanes begin in"""
    fetch_lane: Numbers
    """the lanes that are the first there of their batches, those with constants, most urgent first."""

    read_first: Numbers
    """Of each lane, and one more: where its rows begin in"""
    rows_read: Numbers
    """the rows that lanes read; empty if there is no lead."""


class State(NamedTuple):
    """What the loop works on and what it finds."""

    chip: Numbers
    events: Numbers
    """A heap."""

    start: Numbers
    """Of each lane."""
    finish: Numbers
    missing: Numbers
    """Rows that each lane still waits for."""
    ready: Numbers
    """When the rows that it has were there."""
    paused: Numbers
    """How many of its cycles a lane has run that a more urgent one has stopped."""
    stopped: Numbers
    """That lane, of each batch and core. There is only one, since lanes of one batch work in one place in memory."""

    current: Numbers
    """The lane that each core loads for or runs."""
    origin: Numbers
    """When that would have begun if nothing had come between; `NONE` while the core loads for it."""
    free: Numbers
    """From when on each core is free, or, while it loads, when it has what it loads or may go on loading."""
    linked: Numbers
    """Until when it is sending or receiving."""
    switch: Numbers
    """Until when what it has sent is on the network."""
    turn: Numbers
    """Of each lane: its place in the order in which cores run lanes, and"""
    lane_at: Numbers
    """the reverse. If lanes run as they become ready, they get these then."""
    waiting: Numbers
    """Lanes that have all their rows and do not run, by their turns: a heap for each core. A stopped lane that has
    gone on may still be in it."""
    waiting_count: Numbers

    to_load: Numbers
    """Loads of each lane that are not there, once it starts."""
    load_next: Numbers
    """Of each core, where in it the next one is,"""
    load_end: Numbers
    load_left: Numbers
    """and what cycles are left, if nothing waits for the port."""
    asked: Numbers
    """1 if its request is on its way."""
    loaded: Numbers
    """1 for each item that is there, or on its way."""
    fetched: Numbers
    """When each constant began to be loaded."""
    fetch_next: Numbers
    """Of each core: where in `fetch_lane` the lane is whose constants it fetches next."""
    fetch_load: Numbers
    """Of each core: before which of the loads of this lane all constants are there."""

    to_send: Numbers
    """Uses of each row that are still to be sent, most urgent first."""
    send_next: Numbers
    """Of each core, where in it the next one is,"""
    send_end: Numbers
    begin: Numbers
    """When the messages that a core may send next could begin."""
    sent: Numbers
    """When each use was sent."""

    unread: Numbers
    """Lanes that have yet to read each row."""
    held: Numbers
    """Rows behind which the lead holds the next lane back, in no order,"""
    held_at: Numbers
    """and where among them each row is."""

    resume_lane: Numbers
    """Where lanes go on after an interruption: which,"""
    resume_done: Numbers
    """behind which of its cycles,"""
    resume_time: Numbers
    """and when."""
