"""When every instruction of a latency run executes, and what keeps units, memories, switches busy meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ...analysis.machine import Machine
from ...codegen.columns import Program
from ...codegen.json_reader import JsonProgram
from ...support.arrays import Ints
from .elements import Kind
from .evaluate import evaluate
from .kernel.layout import (
    BASE_AT,
    BEGIN_AT,
    CALL_AT,
    DATA_AT,
    END_AT,
    FIRST_AT,
    ISSUE_AT,
    MOMENTS,
    SECOND_AT,
    SERVE_AT,
)
from .result import TimingResult
from .simulate import Run, TimingOptions, run_program

Mask = npt.NDArray[np.bool_]

_DEFAULTS = TimingOptions()
_TWO_STEPS = (Kind.MATRIX, Kind.VECTOR)
_ONE_STEP = (Kind.FILL, Kind.COPY)
_GLOBAL = (Kind.LOAD, Kind.STORE)


@dataclass(frozen=True, eq=False)
class Intervals:
    """Times in ps at which something is occupied, and the instruction of the stream that occupies it."""

    row: Ints
    begin_ps: Ints
    end_ps: Ints

    def of(self, index: Mask | Ints) -> Intervals:
        """Some of them: a mask, or positions."""
        return Intervals(self.row[index], self.begin_ps[index], self.end_ps[index])


@dataclass(frozen=True, eq=False)
class Recording:
    """A finished run with the moments of its elements. What had begun and not ended is taken to last to the end."""

    run: Run
    result: TimingResult

    @property
    def period_ps(self) -> int:
        """Of the cores' clock."""
        return self.run.facts.period

    @property
    def row(self) -> Ints:
        """[elements] the instruction of the stream that each is."""
        return self.run.elements.row

    @cached_property
    def at(self) -> Ints:
        """[elements, MOMENTS] in ps, by the names of :mod:`.kernel.layout`; -1 for what did not happen."""
        return np.asarray(self.run.state.moments, np.int64).reshape(-1, MOMENTS)

    @cached_property
    def core(self) -> Ints:
        """[elements] position of each one's core."""
        return self.run.stream.core_of_rows()[self.row]

    @cached_property
    def end_ps(self) -> int:
        """The end of the run."""
        return round(self.result.makespan_ns * 1000)

    @property
    def last_ps(self) -> int:
        """The last moment of all: if some core does not finish, others may do something after the end of the run."""
        return max(self.end_ps, int(self.at.max(initial=0)))

    @property
    def unit_times(self) -> tuple[Ints, Ints]:
        """[elements] begin and end in the unit; -1 for what has not begun."""
        begin, end = self.at[:, BEGIN_AT], self.at[:, END_AT]
        return begin, np.where((begin >= 0) & (end < 0), np.maximum(self.end_ps, begin), end)

    @cached_property
    def units(self) -> Intervals:
        """Instructions in their units, transfers also while they wait for a partner; the sums are ``busy_ns``."""
        return self._known(*self.unit_times)

    @cached_property
    def scalars(self) -> Intervals:
        """Scalar instructions, a cycle of the front end each."""
        elements, issued = self.run.elements, self.at[:, ISSUE_AT]
        passed = np.flatnonzero(issued >= 0)
        row, place, owner = self.folded(passed)
        begin = self.at[owner, BASE_AT] + place * self.period_ps
        own = passed[elements.kind[passed] == Kind.BUBBLE]
        row, begin = np.append(row, self.row[own]), np.append(begin, issued[own] - self.period_ps)
        order = np.argsort(row, kind="stable")
        return Intervals(row[order], begin[order], begin[order] + self.period_ps)

    def folded(self, elements: Ints) -> tuple[Ints, Ints, Ints]:
        """The instructions before some elements that the front end executes alone: row, how many stand before it in
        its gap, and its element."""
        first = self.run.elements.fold_start[elements]
        counts = self.row[elements] - first
        owner = np.repeat(elements, counts)
        place = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        return np.repeat(first, counts) + place, place, owner

    @cached_property
    def local_memory(self) -> Intervals:
        """Accesses to the local memories."""
        kind, costs = self.run.elements.kind, self.run.costs
        second = costs.second_ps[self.row]
        whole = costs.first_ps[self.row] + np.where(np.isin(kind, _ONE_STEP), second, 0)
        first_at, second_at = self.at[:, FIRST_AT], self.at[:, SECOND_AT]
        return self._joined(self._known(first_at, first_at + whole), self._known(second_at, second_at + second))

    @cached_property
    def calls(self) -> Intervals:
        """Flights of handshakes and signals, by instruction."""
        return self._known(self.at[:, CALL_AT], self.call_arrival_ps + self.call_hold_ps)

    @cached_property
    def network(self) -> Intervals:
        """All that the cores' switches send."""
        return self._joined(self.calls, self._known(self.at[:, DATA_AT], self.data_end_ps))

    @cached_property
    def global_memory(self) -> Intervals:
        """What global memory serves."""
        return self._known(self.at[:, SERVE_AT], self.served_ps)

    # Moments that follow from others, per element; without a meaning where these are -1

    @cached_property
    def call_arrival_ps(self) -> Ints:
        """When the handshake arrives."""
        stream, cores = self.run.stream, self.run.facts.cores
        line = self.core * (cores + 1) + np.maximum(stream.peer[self.row], 0)
        return self.at[:, CALL_AT] + np.asarray(self.run.code.flit_ps, np.int64)[line]

    @cached_property
    def call_hold_ps(self) -> Ints:
        """How long it holds its switch after that."""
        return np.where(self.run.elements.kind == Kind.SEND, self.run.facts.request_delay, 0)

    @cached_property
    def data_arrival_ps(self) -> Ints:
        """When the data, or a request to global memory, arrives."""
        return self.at[:, DATA_AT] + self.run.costs.flight_ps[self.row]

    @cached_property
    def served_ps(self) -> Ints:
        """When global memory has served it."""
        return self.at[:, SERVE_AT] + self.run.costs.global_ps[self.row]

    @cached_property
    def data_end_ps(self) -> Ints:
        """When the switch is free again."""
        reply = np.asarray(self.run.code.reply_ps, np.int64)
        is_global = np.isin(self.run.elements.kind, _GLOBAL)
        served = np.where(self.at[:, SERVE_AT] < 0, -1, self.served_ps + reply)
        return np.where(is_global, served, self.data_arrival_ps)

    def _known(self, begin: Ints, end: Ints) -> Intervals:
        """Of the elements that have begun; an end of -1 is that of the run."""
        begun = np.flatnonzero(begin >= 0)
        until = np.where(end[begun] < 0, np.maximum(self.end_ps, begin[begun]), end[begun])
        return Intervals(self.row[begun], begin[begun], until)

    def _joined(self, first: Intervals, second: Intervals) -> Intervals:
        return Intervals(
            np.append(first.row, second.row),
            np.append(first.begin_ps, second.begin_ps),
            np.append(first.end_ps, second.end_ps),
        )


def record(program: Program | JsonProgram, machine: Machine, options: TimingOptions = _DEFAULTS) -> Recording:
    """Times a program in a latency run, as :func:`.simulate` does, and keeps when every instruction executed."""
    assert not options.looped, "a loop executes instructions more than once"
    run = run_program(program, machine, replace(options, records=True))
    return Recording(run, evaluate(run))
