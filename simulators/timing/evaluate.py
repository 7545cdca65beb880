"""From the state in which the event loop ended to the result: what was folded is counted in, energy is added up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...codegen.isa import Op
from ...support.arrays import Ints
from .elements import Kind, kinds_of
from .kernel.layout import (
    DECODES,
    FINISHED_TIME,
    FIRST_GROUP,
    GLOBAL_BUSY,
    LOCAL_TIME,
    MATRIX_TIME,
    READS,
    SCALAR_TIME,
    SCALARS,
    SPENT,
    TRANSFER_UNIT,
    VECTOR_TIME,
    VECTOR_UNIT,
    WRITES,
)
from .kernel.spending import account
from .result import SPENDINGS, CoreTiming, Energy, TimingResult
from .simulate import Run
from .stream import IS_SCALAR

Mask = npt.NDArray[np.bool_]

_SPENT_ON = {
    Kind.BUBBLE: SCALAR_TIME,
    Kind.MATRIX: MATRIX_TIME,
    Kind.VECTOR: VECTOR_TIME,
    Kind.FILL: LOCAL_TIME,
    Kind.COPY: LOCAL_TIME,
}


def evaluate(run: Run) -> TimingResult:
    """The result of a run."""
    return _Evaluation(run).result()


@dataclass(frozen=True, eq=False)
class _Executions:
    """Per instruction: whether it was folded, how often it began and came to its second memory access, and its time."""

    folded: Mask
    first: Ints
    second: Ints
    folded_ps: Ints
    """Only of folded instructions."""
    folded_busy_ps: Ints
    """Time in its unit, only of folded instructions."""


class _Evaluation:
    def __init__(self, run: Run) -> None:
        self.run = run
        self.period = run.facts.period
        self.makespan_ps = self._makespan()
        self.kind = kinds_of(run.stream)
        self.core_of = run.stream.core_of_rows()
        self.executions = self._executions()

    def result(self) -> TimingResult:
        run = self.run
        cores = tuple(self._core(number) for number in range(run.facts.cores))
        finishes = [core.finish_ns for core in cores if core.finish_ns is not None]
        rounds = [core.rounds for core in cores]
        latency = max(finishes, default=0.0)
        measured = _ns(self.makespan_ps) if run.options.looped else latency
        return TimingResult(
            run.options.looped,
            latency,
            _ns(self.makespan_ps),
            cores,
            self._energy(measured),
            _ns(int(run.state.chip[GLOBAL_BUSY])),
            sum(rounds) / len(rounds) if rounds else 0.0,
            len(run.stream.op) // run.passes,
            len(run.elements.row) // run.passes,
        )

    def _makespan(self) -> int:
        """When the last thing happened that a core did itself, or when the run was cut."""
        run = self.run
        if run.cut or run.options.looped:
            return run.limit_ps
        state = run.state
        return max((int(time) for times in (state.accounted, state.left) for time in times), default=0)

    # Executions

    def _executions(self) -> _Executions:
        """Counts of every instruction: the event loop's, and those of the gaps before what it executed."""
        run = self.run
        row = run.elements.row
        owner = np.repeat(np.arange(len(row)), np.diff(row, prepend=-1))
        first = np.asarray(run.state.departed, np.int64)[owner]
        first[IS_SCALAR[run.stream.op]] = 0
        second = first.copy()
        first[row], second[row] = run.state.started, run.state.seconded
        cycles = run.elements.serial_cycles
        folded = np.ones(len(first), np.bool_)
        folded[row] = False
        flight = np.where(folded, (cycles - 1) * self.period, 0)
        waiting = np.where(self.kind == Kind.MATRIX, 3, 2)
        busy = np.where(folded & (self.kind != Kind.BUBBLE), (cycles - waiting) * self.period, 0)
        executions = _Executions(folded, first, second, first * flight, first * busy)
        if run.cut and run.elements.gap.any():
            for core in range(run.facts.cores):
                self._add_unfinished_gap(core, executions)
        return executions

    def _add_unfinished_gap(self, core: int, executions: _Executions) -> None:
        """The run ended amid a gap: the part of it that lay before the end."""
        run = self.run
        element, base = int(run.state.next[core]), int(run.state.base[core])
        if element < 0 or base < 0:
            return
        rows = np.arange(int(run.elements.fold_start[element]), int(run.elements.row[element]))
        cycles = run.elements.serial_cycles[rows]
        begin = base + (np.cumsum(cycles) - cycles + 1) * self.period
        local = ~IS_SCALAR[run.stream.op[rows]]
        late = np.where(self.kind[rows] == Kind.MATRIX, self.period, 0)
        compute = run.costs.first_ps[rows] + run.costs.compute_ps[rows]
        two_steps = (self.kind[rows] == Kind.MATRIX) | (self.kind[rows] == Kind.VECTOR)
        end = run.limit_ps
        executions.first[rows] += local & (begin + late < end)
        executions.second[rows] += local & (begin + late + np.where(two_steps, compute, 0) < end)
        spent = np.clip(end - begin, 0, (cycles - 1) * self.period)
        executions.folded_ps[rows] += np.where(local, spent, 0)
        waiting = np.where(self.kind[rows] == Kind.MATRIX, 3, 2)
        busy = np.clip(end - begin - late, 0, (cycles - waiting) * self.period)
        executions.folded_busy_ps[rows] += np.where(local, busy, 0)

    # Cores

    def _core(self, core: int) -> CoreTiming:
        run, state = self.run, self.run.state
        finish, reason = self._finish(core)
        blocked = reason == "blocked"
        return CoreTiming(
            run.stream.core_ids[core],
            finish,
            None if run.options.looped else self._fetch_end(core),
            reason,
            run.stream.place(int(run.elements.row[self._oldest(core)])) if blocked else "",
            self._rounds(core) if run.options.looped else 0,
            self._spent(core),
            self._waits(core),
            self._busy(core, self.makespan_ps) | {"switch": _ns(int(state.switch_busy[core]))},
        )

    def _length(self, core: int) -> int:
        start = self.run.stream.core_start
        return int(start[core + 1] - start[core]) // self.run.passes

    def _finish(self, core: int) -> tuple[float | None, str]:
        run, state = self.run, self.run.state
        if run.options.looped:
            return None, ""
        if state.finish[core] >= 0:
            return _ns(int(state.finish[core])), ""
        if self._length(core) == 0:
            return None, "empty_list"
        ends_in_scalar = bool(IS_SCALAR[run.stream.op[run.stream.core_start[core + 1] - 1]])
        if state.left[core] >= 0 and ends_in_scalar and state.in_flight[core] == 0:
            if not run.options.quirks.unfinished_scalar_end:
                return _ns(max(int(state.left[core]), int(state.accounted[core]))), ""
            return None, "ends_in_scalar"
        return None, "cut_off" if run.cut else "blocked"

    def _oldest(self, core: int) -> int:
        """The element at which a blocked core is."""
        state, size = self.run.state, self.run.facts.rob_size
        if state.in_flight[core]:
            return int(state.rob_element[core * size + state.head[core]])
        return max(int(state.next[core]), 0)

    def _fetch_end(self, core: int) -> float | None:
        length = self._length(core)
        if length < 3:
            early = length * self.period
            return _ns(early) if early < self.run.limit_ps else None
        return _ns(int(self.run.state.mark_time[core])) if self.run.state.mark_count[core] else None

    def _rounds(self, core: int) -> int:
        length = self._length(core)
        if length == 1:
            return 1
        begun = length in (2, 3) and (length - 1) * self.period < self.run.limit_ps
        return int(self.run.state.mark_count[core]) + begun

    def _spent(self, core: int) -> dict[str, float]:
        run, state = self.run, self.run.state
        spent = core * SPENT
        left, since = int(state.left[core]), int(state.accounted[core])
        if state.in_flight[core] == 0 and left >= 0:
            state.spent[spent + SCALAR_TIME] += max(0, left - since)
            state.spent[spent + FINISHED_TIME] += self.makespan_ps - max(left, since)
            state.accounted[core] = self.makespan_ps
        else:
            account(run.code, state, core, run.facts.rob_size, self.makespan_ps)
        times = [int(time) for time in state.spent[spent : spent + SPENT]]
        rows = slice(int(run.stream.core_start[core]), int(run.stream.core_start[core + 1]))
        by_kind = np.bincount(self.kind[rows], self.executions.folded_ps[rows], len(Kind))
        for kind, use in _SPENT_ON.items():
            moved = int(by_kind[kind])
            times[use] += moved
            times[SCALAR_TIME] -= moved
        return dict(zip(SPENDINGS, map(_ns, times), strict=True))

    def _waits(self, core: int) -> dict[str, dict[int, float]]:
        """Waits for partners, after :meth:`_spent` has accounted for the end."""
        run = self.run
        span = slice(int(run.elements.core_start[core]), int(run.elements.core_start[core + 1]))
        waited = np.asarray(run.state.waited[span], np.int64)
        row = run.elements.row[span][waited > 0]
        waited = waited[waited > 0]
        found: dict[str, dict[int, float]] = {}
        for name, kind in (("send_wait", Kind.SEND), ("receive_wait", Kind.RECV)):
            mine = (self.kind[row] == kind) & (run.stream.peer[row] >= 0)
            times = np.bincount(run.stream.peer[row[mine]], waited[mine], run.facts.cores)
            peers = np.flatnonzero(times)
            found[name] = {
                run.stream.core_ids[peer]: _ns(int(time))
                for peer, time in zip(peers.tolist(), times[peers].tolist(), strict=True)
            }
        return found

    def _busy(self, core: int, end: int) -> dict[str, float]:
        run, state = self.run, self.run.state
        first = core * run.facts.units
        since = [max(0, end - int(state.unit_since[first + unit])) for unit in range(run.facts.units)]
        open_ps = [time if state.unit_busy[first + unit] else 0 for unit, time in enumerate(since)]
        rows = slice(int(run.stream.core_start[core]), int(run.stream.core_start[core + 1]))
        by_kind = np.bincount(self.kind[rows], self.executions.folded_busy_ps[rows], len(Kind)).astype(np.int64)
        matrix = int(by_kind[Kind.MATRIX])
        active = end - int(state.groups_since[core]) if state.groups_active[core] else 0
        folded = self.executions.folded[rows]
        local = (
            self.executions.first[rows] * run.costs.first_ps[rows]
            + self.executions.second[rows] * run.costs.second_ps[rows]
        )
        times = {
            "matrix": int(state.matrix_busy[core]) + active + matrix,
            "groups": int(state.group_busy[core]) + sum(open_ps[FIRST_GROUP:]) + matrix,
            "vector": int(state.vector_busy[core]) + open_ps[VECTOR_UNIT] + int(by_kind[Kind.VECTOR]),
            "transfer": int(state.transfer_busy[core])
            + open_ps[TRANSFER_UNIT]
            + int(by_kind[Kind.FILL] + by_kind[Kind.COPY]),
            "local_memory": int(state.local_busy[core]) + int(local[folded].sum()),
        }
        return {name: _ns(time) for name, time in times.items()}

    # Energy

    def _energy(self, measured_ns: float) -> Energy:
        run, state = self.run, self.run.state
        first, second = self.executions.first, self.executions.second
        unit = first * run.costs.unit_pj
        is_mvm = self.kind == Kind.MATRIX
        memory = float((first * run.costs.first_pj + second * run.costs.second_pj).sum())
        return Energy(
            self._static_mw() * measured_ns,
            float(unit[is_mvm].sum()),
            float(unit[~is_mvm].sum()),
            memory,
            float(state.global_pj[0]),
            float(sum(state.network_pj)),
            self._front_end_pj(),
        )

    def _static_mw(self) -> float:
        chip = self.run.machine.architecture.chip_config
        core = chip.core_config
        of_core = (
            core.inst_fetch_static_power
            + core.inst_decode_static_power
            + core.inst_decode_offset_static_power
            + core.reg_file_static_power
            + core.scalar_static_power
            + core.vector_reg_static_power
            + core.vector_alu_static_power
            + core.transfer_static_power
            + core.local_memory_config.static_power
        )
        return of_core * self.run.facts.cores + chip.global_memory_config.static_power

    def _front_end_pj(self) -> float:
        """By evaluations of the simulator's processes, which are only counted if some of them takes energy."""
        run = self.run
        if not run.facts.interprets:
            return 0.0
        core = run.machine.architecture.chip_config.core_config
        counts = np.array(run.state.evaluations, np.int64).reshape(-1, 4)
        issued = np.array(run.state.issued, np.int64)
        if not run.options.quirks.energy_per_evaluation:
            row = run.elements.row
            writes = IS_SCALAR[run.stream.op[row]] & (run.stream.op[row] != Op.SETBW)
            departed = np.asarray(run.state.departed, np.int64) * writes
            scalars = np.bincount(self.core_of[row], departed, len(issued)).astype(np.int64)
            counts = np.stack([issued, issued, scalars, scalars], axis=1)
        fetches = sum(self._fetches(number, int(count)) for number, count in enumerate(issued.tolist()))
        decode = core.inst_decode_dynamic_power + core.inst_decode_offset_dynamic_power
        total_mw = (
            fetches * core.inst_fetch_dynamic_power
            + int(counts[:, DECODES].sum()) * decode
            + int(counts[:, READS].sum()) * core.reg_file_read_dynamic_power
            + int(counts[:, WRITES].sum()) * core.reg_file_write_dynamic_power
            + int(counts[:, SCALARS].sum()) * core.scalar_dynamic_power
        )
        return total_mw * core.period

    def _fetches(self, core: int, issued: int) -> int:
        """Three before the first one is issued, if there is time for them."""
        length, edges = self._length(core), (self.run.limit_ps - 1) // self.period + 1
        if self.run.options.looped:
            return 1 if length == 1 else min(edges, issued + 3)
        return min(length, edges, issued + 3)


def _ns(picoseconds: int) -> float:
    """Nanoseconds; whole numbers stay exact."""
    return picoseconds // 1000 if picoseconds % 1000 == 0 else picoseconds / 1000
