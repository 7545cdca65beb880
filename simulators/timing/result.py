"""What a run of the clock tells: times, energy, and what every core's time was spent on."""

from __future__ import annotations

from dataclasses import asdict, dataclass

SPENDINGS = (
    *("scalar", "matrix", "vector", "local_move", "global_memory", "global_queue"),
    *("send_wait", "send", "receive_wait", "receive", "event", "finished"),
)
"""What a core's time is spent on.

At every moment it belongs to the oldest instruction in flight, with one in flight at a time simply to that one;
``scalar`` is the front end's time with none in flight. ``global_queue`` is waiting for other cores at global memory,
``send_wait`` and ``receive_wait`` for the partner to reach its instruction, ``send`` handshake and read, ``receive``
flight and write, ``event`` is ``sync`` and ``wait``.
"""


@dataclass(frozen=True)
class CoreTiming:
    """One core. Times in ns."""

    core: int
    finish_ns: float | None
    """When its last instruction was done; None in a throughput run, and if that did not happen."""
    fetch_end_ns: float | None
    """When the end of its list was reached by the front end; None if that did not happen."""
    unfinished: str
    """Empty, or why it did not finish: ``blocked``, ``ends_in_scalar``, ``empty_list`` or ``cut_off``."""
    blocked_at: str
    """The instruction at which it is blocked, if it is."""
    rounds: int
    """In a throughput run, how often its list was fetched."""
    spent_ns: dict[str, float]
    """By :data:`SPENDINGS`; the sum is the makespan."""
    waits_ns: dict[str, dict[int, float]]
    """``send_wait`` and ``receive_wait`` by the core that is waited for."""
    busy_ns: dict[str, float]
    """Of ``matrix`` (some group executes), ``groups`` (their sum), ``vector``, ``transfer``, ``local_memory`` and
    ``switch``. The transfer unit is busy while it waits for a partner."""


@dataclass(frozen=True)
class Energy:
    """Energy in pJ by where it goes."""

    static_pj: float
    matrix_pj: float
    vector_pj: float
    local_memory_pj: float
    global_memory_pj: float
    network_pj: float
    front_end_pj: float
    """Fetch, decode, register file and scalar unit."""

    @property
    def total_pj(self) -> float:
        """All of it."""
        return sum(asdict(self).values())


@dataclass(frozen=True)
class TimingResult:
    """A finished run."""

    looped: bool
    latency_ns: float
    """What the simulator prints: the latest finish of a core that finished."""
    makespan_ns: float
    """Until the last core did its last thing, or the simulated time was over; the latency if all cores finish."""
    cores: tuple[CoreTiming, ...]
    energy: Energy
    global_memory_busy_ns: float
    output_count: float
    """In a throughput run, the mean of the cores' rounds, as the simulator has it."""
    instructions: int
    elements: int
    """What the event loop executed: instructions that were not summed up with others."""

    @property
    def finished(self) -> bool:
        """Whether all cores finished."""
        return not self.looped and all(not core.unfinished for core in self.cores)

    @property
    def core_finish_ns(self) -> dict[int, float]:
        """When each core finished, of those that did."""
        return {core.core: core.finish_ns for core in self.cores if core.finish_ns is not None}

    @property
    def unfinished(self) -> dict[int, str]:
        """Why each core did not finish, of those that did not."""
        return {core.core: core.unfinished for core in self.cores if core.unfinished}

    @property
    def rounds(self) -> dict[int, int]:
        """In a throughput run, the rounds of each core."""
        return {core.core: core.rounds for core in self.cores}

    @property
    def sustained_rounds(self) -> int:
        """In a throughput run, the rounds of the slowest core: what the chip can really keep up."""
        return min((core.rounds for core in self.cores), default=0)

    @property
    def throughput_per_s(self) -> float:
        """Outputs a second, by the simulator's count."""
        return self.output_count / (self.makespan_ns * 1e-9) if self.makespan_ns else 0.0

    @property
    def energy_pj(self) -> float:
        """What the simulator prints: the energy of the run, in a throughput run of each output."""
        if not self.looped:
            return self.energy.total_pj
        return self.energy.total_pj / self.output_count if self.output_count else float("inf")

    @property
    def spent_ns(self) -> dict[str, float]:
        """What the time of all cores was spent on; the sum is the makespan times the number of cores."""
        return {name: sum(core.spent_ns[name] for core in self.cores) for name in SPENDINGS}

    def to_json(self) -> dict[str, object]:
        """Everything, as JSON values."""
        content = asdict(self)
        content["cores"] = [asdict(core) for core in self.cores]
        content["energy"] = asdict(self.energy) | {"total_pj": self.energy.total_pj}
        content["spent_ns"] = self.spent_ns
        content["finished"] = self.finished
        content["energy_pj"] = None if self.looped and not self.output_count else self.energy_pj
        if self.looped:
            content["sustained_rounds"] = self.sustained_rounds
            content["throughput_per_s"] = self.throughput_per_s
        return content
