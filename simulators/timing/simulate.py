"""One run of the clock: from a program and a machine to the state in which the event loop ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...analysis.machine import Machine
from ...codegen.columns import Columns, Program
from ...codegen.isa import SCALAR_OPS, Op
from ...codegen.json_reader import SLD, JsonProgram
from ...codegen.registers import register_values
from ...support.arrays import Ints
from ...support.diagnostics import TileError
from ...support.kernel_columns import as_lists
from ...support.machine_code import can_compile
from .compiled import CLOCK, WORTH_COMPILING
from .costs import Costs, FlitTable, costs_of, flit_table, network_ends, picoseconds
from .elements import Elements, Folding, elements_of
from .energy_fields import FRONT_END_POWERS
from .kernel.layout import (
    CHIP,
    CUT,
    EVENTS,
    FIRST_GROUP,
    MOMENTS,
    NEVER,
    NO_ROOM,
    PORT,
    REGISTERS,
    SPENT,
    Code,
    Facts,
    State,
)
from .kernel.loop import run
from .quirks import SIMULATOR, Quirks
from .ranges import NO_RANGE, NO_REGISTER, Range, ranges_of
from .stream import IS_SCALAR, Stream, begins_without_widths, op_mask, stream_of, twice

MOST_ENTRIES = 1 << 16
"""More entries than this a reorder buffer is not given; no program here has so many instructions in flight."""
PROGRESS_STEPS = 10
"""Of the simulator's progress bar; each is an entry in its heap of events."""
_USUAL_ROUNDS = 10
_ONE_SOURCE = op_mask(Op.SADDI, Op.SMULI)
_TWO_SOURCES = op_mask(Op.SADD, Op.SSUB, Op.SMUL)
_WITH_IMMEDIATE = op_mask(*SCALAR_OPS)
_DOUBLE = op_mask(Op.LD, Op.ST, SLD)


@dataclass(frozen=True)
class TimingOptions:
    """How to run. Defaults are those of a latency measurement."""

    looped: bool = False
    """Throughput: every core begins again when it has finished, until ``sim_time_ns`` is over."""
    sim_time_ns: float | None = None
    """When to stop. Without it a latency run goes on to the end; a throughput run needs it."""
    quirks: Quirks = SIMULATOR
    compiles: bool | None = None
    """Whether to use the compiled event loop; by default if it is worth it. The result is the same."""
    folds: bool = True
    """Whether runs of instructions that interact with nothing are summed up first. The result is the same."""
    records: bool = False
    """Whether it is noted when every instruction executes, for :mod:`.recording`. The result is the same."""


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run: everything that the result is computed from."""

    machine: Machine
    options: TimingOptions
    stream: Stream
    costs: Costs
    elements: Elements
    facts: Facts
    code: Code
    state: State
    passes: int
    """How often each core's list stands in the stream."""
    limit_ps: int
    cut: bool
    """Whether the end of the simulated time kept something from happening."""


def run_program(program: Program | JsonProgram, machine: Machine, options: TimingOptions) -> Run:
    """Runs a program to its end, or until the simulated time is over."""
    stream = stream_of(program)
    passes = 1
    if options.looped:
        _check_loops(stream, options)
        passes = 2 if begins_without_widths(stream) else 1
        stream = twice(stream) if passes == 2 else stream
    quirks = options.quirks
    core = machine.architecture.chip_config.core_config
    costs = costs_of(stream, machine, quirks)
    evaluates = any(getattr(core, name) for name in FRONT_END_POWERS)
    serial = core.rob_size == 1
    total_ns = machine.architecture.sim_config.sim_time * 1e6 if options.sim_time_ns is None else options.sim_time_ns
    interprets = evaluates or (not serial and (options.looped or _overwrites_sources(stream)))
    period = int(picoseconds(core.period))
    folds = options.folds and not interprets
    folding = Folding(folds, serial and not quirks.heap_order and not options.records, options.looped, passes)
    elements = elements_of(stream, costs, period, folding, quirks)
    facts = _facts(stream, machine, options, elements, interprets, period, total_ns)
    flits = flit_table(stream, machine, quirks)
    compiles = options.compiles
    if compiles is None:
        rounds = _USUAL_ROUNDS if options.looped else 1
        compiles = len(elements.row) * rounds >= WORTH_COMPILING and can_compile()
    code = _code(stream, machine, quirks, costs, elements, flits, facts, passes)
    limit = NEVER if options.sim_time_ns is None else facts.stop
    facts, state, ending = _executed(facts, code, len(elements.row), limit, compiles)
    return Run(machine, options, stream, costs, elements, facts, code, state, passes, limit, ending == CUT)


def _executed(facts: Facts, code: Code, elements: int, limit: int, compiles: bool) -> tuple[Facts, State, int]:
    """The state at the end and how it ended; again with more room if a queue was too short."""
    code = code if compiles else Code(*as_lists(code))
    while True:
        state = _state(facts, elements, compiles)
        ending = CLOCK.run(facts, code, state, limit) if compiles else run(facts, code, state, limit)
        if ending != NO_ROOM:
            return facts, state, ending
        rooms = {name: 4 * getattr(facts, name) for name in ("room", "edge_room", "message_room")}
        facts = facts._replace(**rooms)


def _check_loops(stream: Stream, options: TimingOptions) -> None:
    if options.sim_time_ns is None:
        raise TileError("throughput mode", "has no end", "give a time to simulate")
    for number, core in enumerate(stream.core_ids):
        if stream.core_start[number] == stream.core_start[number + 1]:
            raise TileError(
                f"core {core}", "has no instructions, so that it cannot run in a loop", "time it with --mode latency"
            )


def _overwrites_sources(stream: Stream) -> bool:
    """Whether some scalar instruction writes a register that it reads: then how often it executes matters."""
    first, second = stream.rd == stream.rs1, stream.rd == stream.rs2
    two = _TWO_SOURCES[stream.op] & (first | second)
    return bool((two | (_ONE_SOURCE[stream.op] & first)).any())


def _facts(
    stream: Stream,
    machine: Machine,
    options: TimingOptions,
    elements: Elements,
    interprets: bool,
    period: int,
    total_ns: float,
) -> Facts:
    quirks = options.quirks
    most = len(elements.row) + 1 if not options.looped else MOST_ENTRIES
    rob_size = min(machine.rob_size, MOST_ENTRIES, most)
    units = FIRST_GROUP + max((len(groups) for groups in stream.groups), default=0)
    threads = stream.core_count * (units + 1)
    return Facts(
        period=period,
        cores=stream.core_count,
        units=units,
        rob_size=rob_size,
        looped=int(options.looped),
        interprets=int(interprets),
        checks=int(machine.rob_size > 1),
        request_delay=1000 if quirks.request_holds_switch else 0,
        late=int(quirks.late_short_steps),
        younger_first=int(quirks.younger_unit_first),
        sees_write_after_write=int(not quirks.unseen_write_after_write),
        repeats=int(quirks.scalars_repeat),
        heap_order=int(quirks.heap_order),
        progress=max(1, int(picoseconds(total_ns / PROGRESS_STEPS))),
        stop=int(picoseconds(total_ns)) + (0 if quirks.last_instant_lost else 1),
        records=int(options.records),
        room=2 * threads + 2,
        edge_room=threads + stream.core_count * (units + 8),
        message_room=4 * stream.core_count,
    )


def _code(
    stream: Stream,
    machine: Machine,
    quirks: Quirks,
    costs: Costs,
    elements: Elements,
    flits: FlitTable,
    facts: Facts,
    passes: int,
) -> Code:
    row = elements.row
    ranges = ranges_of(stream, machine, quirks) if facts.checks else None
    parts = (ranges.read1, ranges.read2, ranges.write) if ranges else ()
    spans = _spans(stream, parts)[row] if ranges and not facts.interprets else np.zeros(0, np.int64)

    def each(name: str) -> Any:
        if not ranges or not facts.interprets:
            return np.full(3 * len(row) if facts.interprets else 1, NO_RANGE, np.int64)
        return np.stack([getattr(part, name)[row] for part in parts], axis=1).reshape(-1)

    decoded = row if facts.interprets else row[:0]
    reply = np.zeros(len(row), np.int64) if quirks.free_load_reply else _replies(stream, machine, row)
    return Code(
        first=_list(elements.core_start),
        loop=_list(_loop_starts(stream, elements, passes)),
        kind=_list(elements.kind),
        gap=_list(elements.gap),
        marks=_list(elements.marks),
        peer=_list(stream.peer[row]),
        group=_list(stream.group[row]),
        event=_list(stream.event[row]),
        value=_list(stream.value[row]),
        first_ps=_list(costs.first_ps[row]),
        compute_ps=_list(costs.compute_ps[row]),
        second_ps=_list(costs.second_ps[row]),
        flight_ps=_list(costs.flight_ps[row]),
        reply_ps=_list(reply),
        global_ps=_list(costs.global_ps[row]),
        flight_pj=_list(costs.flight_pj[row]),
        global_pj=_list(costs.global_pj[row]),
        flit_ps=_list(flits.ps),
        flit_pj=_list(flits.pj),
        op=_list(stream.op[decoded]),
        rd=_list(stream.rd[decoded]),
        rs1=_list(stream.rs1[decoded]),
        rs2=_list(stream.rs2[decoded]),
        imm=_list(stream.imm[decoded]),
        double=_list(_DOUBLE[stream.op[decoded]].astype(np.int64)),
        spans=_list(spans.reshape(-1)),
        range_register=_list(each("register")),
        range_offset=_list(each("offset")),
        range_length=_list(each("length")),
    )


def _list(array: npt.NDArray[Any]) -> Any:
    """An array where the event loop expects numbers: contiguous, 64 bits."""
    return np.ascontiguousarray(array, np.float64 if array.dtype.kind == "f" else np.int64)


def _loop_starts(stream: Stream, elements: Elements, passes: int) -> Ints:
    """Where each core begins again: not at all if all it has is one scalar instruction."""
    counts = np.diff(stream.core_start) // passes
    start = np.searchsorted(elements.row, stream.core_start[:-1] + (passes - 1) * counts)
    single = np.flatnonzero(counts == 1)
    start[single[IS_SCALAR[stream.op[stream.core_start[single]]]]] = -1
    return start


def _replies(stream: Stream, machine: Machine, row: Ints) -> Ints:
    ends = network_ends(stream, machine)
    flits = -(-stream.size // machine.bus_width_bytes) * (stream.op == Op.LD)
    latency = machine.network.latency_ns[ends[-1], ends[stream.core_of_rows()]]
    return picoseconds(flits * latency)[row]


def _spans(stream: Stream, parts: tuple[Range, ...]) -> Ints:
    """Begin and end of the ranges of every instruction, from the values that registers have in a straight run."""
    spans = np.empty((len(stream.op), 6), np.int64)
    for number in range(stream.core_count):
        span = slice(int(stream.core_start[number]), int(stream.core_start[number + 1]))
        values = register_values(_scalar_columns(stream, span))
        operands = (values.rs1, values.rs2, values.rd)
        for place, (part, value) in enumerate(zip(parts, operands, strict=True)):
            begin = np.where(part.register[span] == NO_REGISTER, 0, value) + part.offset[span]
            exists = part.length[span] != NO_RANGE
            spans[span, 2 * place] = np.where(exists, begin, NEVER)
            spans[span, 2 * place + 1] = np.where(exists, begin + part.length[span], -NEVER)
    return spans


def _scalar_columns(stream: Stream, span: slice) -> Columns:
    """What determines the registers. ``sld`` is what it does: a 0 into r0."""
    op = stream.op[span]
    is_sld = op == SLD
    imm = np.where(_WITH_IMMEDIATE[op], stream.imm[span], 0)
    return Columns.of(
        np.where(is_sld, Op.SLDI, op),
        rd=np.where(is_sld, 0, stream.rd[span]),
        rs1=stream.rs1[span],
        rs2=stream.rs2[span],
        a=imm,
    )


_PER_CORE = {"spent": SPENT, "events": EVENTS, "registers": REGISTERS, "port": PORT, "evaluations": 4, "last_write": 2}
_PER_MESSAGE = ("message_kind", "message_core", "message_element", "message_next")
_PER_UNIT = ("unit_element", "unit_entry", "unit_busy", "unit_stage", "unit_since")


def _state(facts: Facts, element_count: int, compiles: bool) -> State:
    cores, rob_size = facts.cores, facts.rob_size
    sizes = {name: cores * _PER_CORE.get(name, 1) for name in State._fields}
    sizes |= dict.fromkeys(_PER_UNIT, cores * facts.units)
    sizes |= dict.fromkeys(("started", "seconded", "departed", "waited"), element_count)
    sizes |= {"rob_element": cores * rob_size, "rob_open": cores * rob_size, "rob_span": 1}
    sizes |= {"pending_span": 6 * cores, "asked": cores * cores, "chip": CHIP, "global_pj": 1}
    sizes |= dict.fromkeys(("woken", "later", "turn"), facts.room)
    sizes |= dict.fromkeys(("edge_time", "edge_key"), facts.edge_room)
    sizes |= dict.fromkeys(("wait_time", "wait_thread"), cores * (facts.units + 1) + 2)
    sizes |= dict.fromkeys(_PER_MESSAGE, facts.message_room)
    if facts.checks or facts.interprets:
        sizes["rob_span"] = cores * rob_size * 6
    sizes["moments"] = MOMENTS * element_count if facts.records else 1
    columns = {name: _zeros(sizes[name], name.endswith("_pj"), compiles) for name in State._fields}
    columns["moments"] = np.full(sizes["moments"], -1, np.int64) if compiles else [-1] * sizes["moments"]
    return State(**columns)


def _zeros(count: int, real: bool, compiles: bool) -> Any:
    if compiles:
        return np.zeros(count, np.float64 if real else np.int64)
    return [0.0 if real else 0] * count
