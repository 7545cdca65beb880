"""The architecture file of the pimsim-nn simulator, field for field: names, defaults and nesting are the simulator's.

Each class is one JSON object. The bounds are ours: wide enough for any machine that one could mean, narrow enough that
a slip of the pen is an error. Fields that the simulator reads but never uses (``memory_size``, ``xbar_array_count``,
``layout`` ...) matter to the compiler, which is why they are here.
"""

# ruff: noqa: RUF009 (`record(...)` declares a field, as `dataclasses.field` does)

from __future__ import annotations

from dataclasses import dataclass

from .json_record import flag, pair, real, record, text, whole

_CYCLES = 10**6
_POWER = 1e9
_BYTES = 2**31 - 1
_WIDTH = 2**20
_SMALLEST_PERIOD_NS = 0.001

IGNORED_KEYS = frozenset({"input_buffer_latency_cycle"})
"""A field that the simulator declares and forgets to read: accepted and ignored here as well."""

CORE_LIMIT = 4096
"""The most cores; the network table grows with the square."""


def _cycles(default: int) -> int:
    return whole(default, 0, _CYCLES)


def _energy(default: float = 0.0) -> float:
    return real(default, 0.0, _POWER)


@dataclass(frozen=True)
class MemoryConfig:
    """A memory with one port: ``ceil(bytes / data_width)`` beats of so many cycles each."""

    memory_size: int = whole(1024 * 1024, 1, 2**48)
    data_width: int = whole(16, 1, _WIDTH)
    period: float = real(1.0, _SMALLEST_PERIOD_NS, 1e6)
    static_power: float = _energy(1.0)
    write_latency_cycle: int = _cycles(10)
    write_dynamic_energy: float = _energy()
    read_latency_cycle: int = _cycles(8)
    read_dynamic_energy: float = _energy()


@dataclass(frozen=True)
class MatrixConfig:
    """The crossbar arrays of a core and their converters."""

    xbar_array_count: int = whole(1, 0, 2**20)
    period: float = real(1 / 1.28, _SMALLEST_PERIOD_NS, 1e6)
    pipeline_mode: bool = flag(True)
    dac_resolution: int = whole(1, 1, 64)
    dac_latency_cycle: int = _cycles(1)
    dac_static_power: float = _energy()
    dac_dynamic_power: float = _energy()
    dac_count: int = whole(128, 1, _WIDTH)
    xbar_size: tuple[int, int] = pair((128, 128), 1, 65536)
    cell_precision: int = whole(2, 1, 64)
    xbar_latency: float = real(30.0, 0.0, 1e9)
    xbar_read_power: float = _energy()
    sample_hold_latency_cycle: int = _cycles(1)
    sample_hold_static_power: float = _energy()
    sample_hold_dynamic_power: float = _energy()
    adc_resolution: int = whole(1, 1, 64)
    adc_latency_cycle: int = _cycles(1)
    adc_static_power: float = _energy()
    adc_dynamic_power: float = _energy()
    adc_count: int = whole(1, 1, _WIDTH)
    shift_adder_latency_cycle: int = _cycles(1)
    shift_adder_static_power: float = _energy()
    shift_adder_dynamic_power: float = _energy()
    input_buffer_static_power: float = _energy()
    input_buffer_dynamic_power: float = _energy()
    output_buffer_latency_cycle: int = _cycles(1)
    output_buffer_static_power: float = _energy()
    output_buffer_dynamic_power: float = _energy()


@dataclass(frozen=True)
class CoreConfig:
    """One core: pipeline, vector unit, local memory and arrays."""

    period: float = real(1.0, _SMALLEST_PERIOD_NS, 1e6)
    controller_static_power: float = _energy()
    controller_dynamic_power: float = _energy()
    inst_fetch_static_power: float = _energy()
    inst_fetch_dynamic_power: float = _energy()
    inst_decode_static_power: float = _energy()
    inst_decode_dynamic_power: float = _energy()
    inst_decode_offset_static_power: float = _energy()
    inst_decode_offset_dynamic_power: float = _energy()
    reg_file_static_power: float = _energy()
    reg_file_read_dynamic_power: float = _energy()
    reg_file_write_dynamic_power: float = _energy()
    scalar_static_power: float = _energy()
    scalar_dynamic_power: float = _energy()
    matrix_config: MatrixConfig = record(MatrixConfig)
    vector_width: int = whole(16, 1, _WIDTH)
    vector_latency_cycle: int = _cycles(8)
    vector_alu_static_power: float = _energy()
    vector_alu_dynamic_energy: float = _energy()
    vector_reg_static_power: float = _energy()
    vector_reg_read_dynamic_energy: float = _energy()
    vector_reg_write_dynamic_energy: float = _energy()
    transfer_static_power: float = _energy()
    transfer_dynamic_power: float = _energy()
    local_memory_config: MemoryConfig = record(MemoryConfig)
    rob_size: int = whole(1, 1, 65536)
    global_memory_switch_id: int = whole(-10, -_BYTES, _BYTES)


@dataclass(frozen=True)
class MeshConfig:
    """A network by rule instead of by table (an addition of ours; ``Machine.write`` turns it into a table).

    A flit between cores of the ``layout`` takes ``base_latency + hop_latency * hops``; to and from global memory it
    takes ``memory_latency``. Every flit costs ``energy``. Times in ns, energy in pJ.
    """

    base_latency: float = real(2.0, 0.0, 1e6)
    hop_latency: float = real(2.0, 0.0, 1e6)
    memory_latency: float = real(15.0, 0.0, 1e6)
    energy: float = real(46.0, 0.0, _POWER)


@dataclass(frozen=True)
class NetworkConfig:
    """The network: bytes a flit, the mesh, and where the table of times is (relative to the architecture file)."""

    bus_topology: str = text("mesh")
    bus_width: int = whole(16, 1, _WIDTH)
    layout: tuple[int, int] = pair((0, 0), 0, 65536)
    net_config_file_path: str = text("")
    mesh: MeshConfig = record(MeshConfig)


@dataclass(frozen=True)
class ChipConfig:
    """The chip."""

    core_config: CoreConfig = record(CoreConfig)
    global_memory_config: MemoryConfig = record(MemoryConfig)
    network_config: NetworkConfig = record(NetworkConfig)
    core_cnt: int = whole(1, 1, CORE_LIMIT)
    global_memory_switch_id: int = whole(-10, -_BYTES, _BYTES)


@dataclass(frozen=True)
class SimConfig:
    """How the simulator runs; no property of the machine."""

    sim_mode: int = whole(0, 0, 1)
    sim_time: float = real(1.0, 1e-5, 1e12)
    report_verbose_level: int = whole(0, 0, 2)


@dataclass(frozen=True)
class Architecture:
    """A whole architecture file."""

    chip_config: ChipConfig = record(ChipConfig)
    sim_config: SimConfig = record(SimConfig)
