"""The clock once more, written as differently as possible: for tests, short and slow.

Every core is stepped at every edge, stage by stage; units and switches are coroutines that wait for a time or for an
event. Nothing is folded, skipped or foreseen. Programs are lists of dictionaries, as in the simulator's JSON.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Generator
from typing import Any

from tilec.analysis.machine import Machine

Line = dict[str, Any]
Process = Generator[Any, None, None]

SCALARS = {"setbw", "sldi", "sadd", "ssub", "smul", "saddi", "smuli"}
TRANSFERS = {"ld", "st", "lldi", "lmv", "send", "recv", "sync", "wait"}
TWO_READS = {"vvadd", "vvsub", "vvmax", "vvmul", "vvsll", "vvsra", "vvdmul"}
WIDE_RESULTS = {"vvmul", "vvsll", "vvsra", "vtanh", "vsigm", "vrsu", "vrsl"}


def ps(nanoseconds: float) -> int:
    return math.floor(nanoseconds * 1000 + 0.5)


class Event:
    """What a coroutine can wait for."""

    def __init__(self) -> None:
        self.waiting: Process | None = None


class Memory:
    def __init__(self, config: Any) -> None:
        self.config, self.free = config, 0
        self.history: list[tuple[int, int]] = []

    def ask(self, now: int, size: int, write: bool) -> int:
        cycles = self.config.write_latency_cycle if write else self.config.read_latency_cycle
        beats = math.ceil(size / self.config.data_width)
        begin = max(self.free, now)
        self.free = begin + ps(beats * cycles * self.config.period)
        self.history.append((begin, self.free))
        return self.free - now


class Chip:
    """The event queue and everything in it."""

    def __init__(self, machine: Machine, lists: list[list[Line]], groups: list[list[int]]) -> None:
        self.machine, self.chip = machine, machine.architecture.chip_config
        self.period = ps(self.chip.core_config.period)
        self.now = self.order = 0
        self.queue: list[tuple[int, int, Process]] = []
        self.ready: deque[Process] = deque()
        self.delta: list[Process] = []
        self.at_edge = False
        self.memory = Memory(self.chip.global_memory_config)
        self.cores = [Core(self, number, *parts) for number, parts in enumerate(zip(lists, groups, strict=True))]

    def run(self, limit: int) -> list[int | None]:
        for core in self.cores:
            for process in core.processes():
                self.resume(process)
        self.ready.append(self.clock())
        self.drain()
        while self.queue and self.queue[0][0] < limit and not all(core.finish for core in self.cores):
            self.now = self.queue[0][0]
            while self.queue and self.queue[0][0] == self.now:
                self.ready.append(heapq.heappop(self.queue)[2])
            self.drain()
        return [core.finish for core in self.cores]

    def drain(self) -> None:
        while self.ready or self.delta:
            if not self.ready:
                self.ready.extend(reversed(self.delta))
                self.delta.clear()
            this_round, self.ready = self.ready, deque()
            for process in this_round:
                self.resume(process)
            if self.at_edge:
                self.at_edge = False
                for core in self.cores:
                    core.edge()

    def clock(self) -> Process:
        while True:
            yield self.period
            self.at_edge = True
            for core in self.cores:
                core.seen, core.done = core.done, []

    def resume(self, process: Process) -> None:
        wish = next(process, None)
        if isinstance(wish, Event):
            wish.waiting = process
        elif wish == 0:
            self.delta.append(process)
        elif wish is not None:
            self.order += 1
            heapq.heappush(self.queue, (self.now + int(wish), self.order, process))

    def notify(self, event: Event) -> None:
        if event.waiting is not None:
            self.ready.append(event.waiting)
            event.waiting = None

    def flight(self, source: int, target: int, size: int) -> int:
        flits = math.ceil(size / self.machine.bus_width_bytes)
        return int(flits * self.machine.network.latency_ns[source, target]) * 1000


class Entry:
    """An instruction in flight."""

    def __init__(self, core: Core, line: Line) -> None:
        self.line, self.finished = line, False
        self.input_bits, self.output_bits = core.widths
        self.reads, self.writes = core.ranges(line)

    def conflicts(self, other: Entry) -> bool:
        pairs = [(mine, theirs) for mine in self.writes for theirs in other.reads]
        pairs += [(mine, theirs) for mine in self.reads for theirs in other.writes]
        return any(first <= last2 and first2 <= last for (first, last), (first2, last2) in pairs)


class Core:
    def __init__(self, chip: Chip, number: int, lines: list[Line], groups: list[int]) -> None:
        self.chip, self.number, self.lines, self.groups = chip, number, lines, groups
        self.config = chip.chip.core_config
        self.memory = Memory(self.config.local_memory_config)
        self.registers, self.widths = [0] * 32, (0, 0)
        self.fetched = 0
        self.decode: Line | None = None
        self.dispatch: Entry | None = None
        self.go = True
        self.rob: list[Entry] = []
        self.units = {name: Unit(self, name) for name in ("vector", "transfer", *range(len(groups)))}
        self.front: Entry | None = None
        self.done: list[tuple[Unit, Entry]] = []
        self.seen: list[tuple[Unit, Entry]] = []
        self.commits: list[Entry] = []
        self.products: deque[Entry] = deque()
        self.finish: int | None = None
        self.messages: deque[tuple[str, int, int, Any]] = deque()
        self.flights: list[tuple[int, int]] = []
        self.posted, self.answer, self.arrival = Event(), Event(), Event()
        self.reply, self.signal = Event(), Event()
        self.receiving, self.asked = -1, set[int]()
        self.events, self.awaited = [0] * 32, (-1, -1)

    def processes(self) -> list[Process]:
        return [self.switch(), *(unit.process() for unit in self.units.values())]

    # One edge

    def edge(self) -> None:
        chip = self.chip
        starts: list[Unit] = []
        entering = self.dispatch if self.go else None
        if entering is not None:
            name = unit_of(entering.line)
            if name != "matrix":
                self.units[name].start(entering)
                starts.append(self.units[name])
        if self.front is not None and self.units[self.front.line["group"]].idle:
            self.units[self.front.line["group"]].start(self.front)
            starts.append(self.units[self.front.line["group"]])
            self.front = None
        if entering is not None and unit_of(entering.line) == "matrix":
            assert self.front is None
            self.front = entering
        leaving = self.commits
        self.commits = []
        for unit, entry in self.seen:
            unit.idle = True
            unit.history.append((unit.since, chip.now))
            if isinstance(unit.name, int):
                self.products.append(entry)
            else:
                self.commits.append(entry)
        if self.products:
            self.commits.append(self.products.popleft())
        if entering is not None:
            self.rob.append(entering)
        for entry in leaving:
            entry.finished = True
        while self.rob and self.rob[0].finished:
            if self.rob.pop(0).line is self.lines[-1]:
                self.finish = chip.now
        self.step()
        for unit in starts:
            chip.notify(unit.begin)

    def step(self) -> None:
        """The front end's registers, and whether they move on at the next edge."""
        held = self.decode
        moved = None
        if self.go:
            if held is not None and held["op"] not in SCALARS:
                moved = Entry(self, held)
            self.dispatch = moved
            self.decode = self.lines[self.fetched] if self.fetched < len(self.lines) else None
            self.fetched += 1
        if held is not None and held["op"] in SCALARS:
            self.execute(held)
        waiting = self.dispatch
        self.go = len(self.rob) < self.config.rob_size
        if self.go and waiting is not None:
            name = unit_of(waiting.line)
            idle = self.front is None or self.units[self.front.line["group"]].idle
            idle = idle if name == "matrix" else self.units[name].idle
            self.go = idle and not any(waiting.conflicts(entry) for entry in self.rob if not entry.finished)

    def execute(self, line: Line) -> None:
        first, second = self.registers[line.get("rs1", 0)], self.registers[line.get("rs2", 0)]
        imm = line.get("imm", 0)
        if line["op"] == "setbw":
            self.widths = (line["ibiw"], line["obiw"])
            return
        value = {
            "sldi": imm,
            "sadd": first + second,
            "ssub": first - second,
            "smul": first * second,
            "saddi": first + imm,
            "smuli": first * imm,
        }[line["op"]]
        self.registers[line["rd"]] = (value + 2**31) % 2**32 - 2**31

    def ranges(self, line: Line) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Closed ranges that the reorder buffer believes to be read and written."""
        rd, rs1, rs2 = (self.registers[line.get(name, 0)] for name in ("rd", "rs1", "rs2"))
        into, out = (math.ceil(bits / 8) for bits in self.widths)
        op, length, size = line["op"], line.get("len", 0), line.get("size", 0)
        if op == "mvmul":
            matrix = self.config.matrix_config
            columns = matrix.cell_precision * matrix.xbar_size[1] // line["mbiw"] * self.groups[line["group"]]
            return [(rs1, rs1 + matrix.xbar_size[0] * into)], [(rd, rd + columns * out)]
        if op in TRANSFERS:
            reads = {"st": (0, size), "lmv": (rs1, rs1 + size), "send": (rs1, rs1 + size)}
            writes = {"ld": (0, size), "lldi": (rd, rd + 1), "lmv": (rd, rd + size), "recv": (rd, rd + size)}
            return [reads[op]] if op in reads else [], [writes[op]] if op in writes else []
        if op == "vmv":
            return [], []
        reads = [(rs1, rs1 + length * into)]
        if op in TWO_READS | {"vrsu", "vrsl"}:
            reads.append((rs2, rs2 + length * into))
        result = length * (into if op in ("vvadd", "vvsub", "vvmax") else out)
        return reads, [(rd, rd + (out if op == "vavg" else result))]

    # The network

    def put(self, kind: str, target: int, size: int, payload: Any = None) -> None:
        self.messages.append((kind, target, size, payload))
        self.chip.notify(self.posted)

    def switch(self) -> Process:
        chip, memory_end = self.chip, self.chip.machine.core_count
        while True:
            if not self.messages:
                yield self.posted
            kind, target, size, payload = self.messages.popleft()
            since = chip.now
            end = memory_end if target < 0 else target
            yield chip.flight(self.number, end, size)
            if target < 0:
                yield chip.memory.ask(chip.now, *payload)
                chip.notify(self.reply)
            else:
                yield chip.cores[target].receive(kind, self.number, payload)
            self.flights.append((since, chip.now))

    def receive(self, kind: str, sender: int, payload: Any) -> int:
        if kind == "request":
            if self.receiving == sender:
                self.put("answer", sender, 1)
            else:
                self.asked.add(sender)
            return 1000
        if kind == "answer":
            self.chip.notify(self.answer)
        elif kind == "data":
            self.chip.notify(self.arrival)
        else:
            self.events[payload] += 1
            if self.awaited == (payload, self.events[payload]):
                self.chip.notify(self.signal)
        return 0


def unit_of(line: Line) -> Any:
    if line["op"] == "mvmul":
        return "matrix"
    return "transfer" if line["op"] in TRANSFERS else "vector"


class Unit:
    def __init__(self, core: Core, name: Any) -> None:
        self.core, self.name, self.idle = core, name, True
        self.begin = Event()
        self.entry: Entry | None = None
        self.since = 0
        self.history: list[tuple[int, int]] = []

    def start(self, entry: Entry) -> None:
        self.entry, self.idle, self.since = entry, False, self.core.chip.now

    def process(self) -> Process:
        while True:
            yield self.begin
            entry = self.entry
            assert entry is not None
            yield from self.transfer(entry.line) if self.name == "transfer" else self.compute(entry)
            self.core.done.append((self, entry))

    def compute(self, entry: Entry) -> Process:
        core, config, line = self.core, self.core.config, entry.line
        into, out = math.ceil(entry.input_bits / 8), math.ceil(entry.output_bits / 8)
        if line["op"] == "mvmul":
            matrix = config.matrix_config
            delay = core.memory.ask(core.chip.now, 8 * matrix.xbar_size[0] * into, False)
            delay += ps(core.chip.machine.crossbar_cycles(entry.input_bits) * matrix.period)
            columns = matrix.cell_precision * matrix.xbar_size[1] // line["mbiw"] * core.groups[line["group"]]
            size = columns * out
        else:
            for _ in range(2 if line["op"] in TWO_READS else 1):
                delay = core.memory.ask(core.chip.now, into * line["len"], False)
            delay += math.ceil(line["len"] / config.vector_width) * config.vector_latency_cycle * 1000
            size = line["len"] * (out if line["op"] in WIDE_RESULTS else into)
        yield delay
        yield core.memory.ask(core.chip.now, size, True)

    def transfer(self, line: Line) -> Process:
        core, chip = self.core, self.core.chip
        op, size, length, peer = line["op"], line.get("size", 0), line.get("len", 0), line.get("core", 0)
        if op == "lldi":
            yield core.memory.ask(chip.now, length, True)
        elif op == "lmv":
            core.memory.ask(chip.now, length, False)
            yield core.memory.ask(chip.now, length, True)
        elif op == "ld":
            core.put("global", -1, 1, (size, False))
            yield core.reply
            yield core.memory.ask(chip.now, size, True)
        elif op == "st":
            yield core.memory.ask(chip.now, size, False)
            core.put("global", -1, size, (size, True))
            yield core.reply
        elif op == "send":
            core.put("request", peer, 1)
            yield core.answer
            yield core.memory.ask(chip.now, size, False)
            core.put("data", peer, size)
        elif op == "recv":
            core.receiving = peer
            if peer in core.asked:
                core.asked.remove(peer)
                core.put("answer", peer, 1)
            yield core.arrival
            core.receiving = -1
            yield core.memory.ask(chip.now, size, True)
        elif op == "sync":
            core.put("sync", peer, 1, line["event_register"])
            yield chip.period
        else:
            event, value = line["event_register"], line["wait_value"]
            core.awaited = (event, value)
            if core.events[event] != value:
                yield core.signal
            core.events[event], core.awaited = 0, (-1, -1)
