"""The machine that a program is compiled for, and what every operation costs on it.

:class:`Machine` is read from the same architecture file that the pimsim-nn simulator takes, or by preset name. Its cost
functions are the single source of cycle numbers in the compiler. They give the time of an instruction that executes
alone (``rob_size`` 1, no queue at a memory, no message in the way), exactly as the simulator charges it, quirks
included, and take numpy arrays as well as numbers.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..codegen.isa import OP_LIMIT, OUTPUT_WIDTH_OPS, TWO_VECTOR_OPS
from ..support.arrays import Ints
from ..support.files import atomic_file
from .architecture import Architecture, ChipConfig, CoreConfig, MatrixConfig, MemoryConfig
from .machine_file import find_machine, load_machine, mesh_layout, read_machine
from .network import F64, Network, mesh_hops

Amount = npt.ArrayLike
"""A number or an array of numbers."""

START_CYCLES = 2
"""Cycles before a core's first instruction starts."""


@dataclass(frozen=True)
class Precision:
    """Bit widths of weights, operation inputs and operation outputs; each element takes whole bytes in memory."""

    weight_bits: int = 8
    input_bits: int = 8
    output_bits: int = 8

    @property
    def input_bytes(self) -> int:
        """Bytes of one input element."""
        return -(-self.input_bits // 8)

    @property
    def output_bytes(self) -> int:
        """Bytes of one output element."""
        return -(-self.output_bits // 8)


EIGHT_BITS = Precision()


@dataclass(frozen=True, eq=False)
class Machine:
    """One machine. Equal machines have equal :meth:`digest`."""

    name: str
    architecture: Architecture
    network: Network

    @classmethod
    def load(cls, name_or_path: str | Path, strict: bool = True) -> Machine:
        """The preset of that name, or the machine that an architecture file describes.

        ``strict`` adds what a compiler needs and the simulator does not check: the fields that a program depends on are
        given, the network is complete, the array fits the converters evenly.
        """
        path = find_machine(str(name_or_path))
        return _machine(path.stem, *load_machine(path, strict))

    @classmethod
    def from_json(
        cls, architecture: object, network: object = None, name: str = "machine", strict: bool = True
    ) -> Machine:
        """The machine of an architecture's JSON content and its network file's content."""
        return cls(name, *read_machine(architecture, name, Path(), network, strict))

    def write(self, path: Path) -> None:
        """Writes the architecture file and, beside it, its network file, as the simulator reads them."""
        network_path = path.with_name(f"{path.stem}_network.json")
        content = dataclasses.asdict(self.architecture)
        network_config = content["chip_config"]["network_config"]
        del network_config["mesh"]
        network_config["net_config_file_path"] = network_path.name
        _write_json(network_path, self.network.to_table(self._chip.global_memory_switch_id), None)
        _write_json(path, content, 1)

    # What it has

    @property
    def core_count(self) -> int:
        """Number of cores."""
        return self._chip.core_cnt

    @property
    def array_rows(self) -> int:
        """Rows of one array: the longest input of a matrix product."""
        return self._matrix.xbar_size[0]

    @property
    def array_cols(self) -> int:
        """Columns of 8-bit weights of one array; see :meth:`array_cols_at` for other widths."""
        return self.array_cols_at(EIGHT_BITS.weight_bits)

    def array_cols_at(self, weight_bits: int) -> int:
        """Columns of weights of one array when a weight takes several cells; 0 if a row holds no weight at all."""
        return self.array_row_bits // weight_bits

    @property
    def array_row_bits(self) -> int:
        """Bits that the cells of one row of an array hold together."""
        return self._matrix.cell_precision * self._matrix.xbar_size[1]

    @property
    def arrays_per_core(self) -> int:
        """Number of arrays of one core."""
        return self._matrix.xbar_array_count

    @property
    def local_memory_bytes(self) -> int:
        """Size of one core's memory."""
        return self._core.local_memory_config.memory_size

    @property
    def global_memory_bytes(self) -> int:
        """Size of the memory that all cores share."""
        return self._chip.global_memory_config.memory_size

    @property
    def rob_size(self) -> int:
        """Instructions that a core may have in flight; 1 is strictly serial."""
        return self._core.rob_size

    @property
    def layout(self) -> tuple[int, int]:
        """Rows and columns of the mesh; the nearest to a square when the file gives none."""
        return mesh_layout(self._chip)

    @cached_property
    def hops(self) -> Ints:
        """Distance between every two cores on the mesh. Shape [core_count, core_count]."""
        return mesh_hops(self.layout, self.core_count)

    @property
    def latency_ns(self) -> F64:
        """Time of a flit from row to column; last is global memory. Shape [core_count + 1, core_count + 1]."""
        return self.network.latency_ns

    @property
    def bus_width_bytes(self) -> int:
        """Bytes of one flit."""
        return self._chip.network_config.bus_width

    @property
    def period_ns(self) -> float:
        """Length of a core's clock cycle."""
        return self._core.period

    def digest(self) -> str:
        """Hash of everything that a compiled program or its time can depend on. Not of names, paths or sim_config."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        chip = dataclasses.asdict(self._chip)
        del chip["network_config"]["mesh"]
        del chip["network_config"]["net_config_file_path"]
        return _digest(json.dumps(chip, sort_keys=True), self.network)

    # What it costs: cycles of one instruction that executes alone

    def mvm_cycles(self, arrays: Amount, precision: Precision = EIGHT_BITS) -> Ints:
        """``mvmul`` on a group of so many arrays. The simulator reads all rows of the input, eight times over."""
        columns = self.array_cols_at(precision.weight_bits) * np.asarray(arrays, np.int64)
        read = self._local_read_ps(8 * self.array_rows * precision.input_bytes)
        write = self._local_write_ps(columns * precision.output_bytes)
        return self._cycles(read + _ps(self.crossbar_cycles(precision.input_bits) * self._matrix.period), write, 3)

    def crossbar_cycles(self, input_bits: int) -> int:
        """Cycles of the matrix unit's clock for one product. Divisions round down, as the simulator's do."""
        matrix = self._matrix
        settle = -(-matrix.xbar_latency // matrix.period)
        front = matrix.dac_latency_cycle + int(settle) + matrix.sample_hold_latency_cycle
        shift = matrix.shift_adder_latency_cycle + matrix.output_buffer_latency_cycle
        conversions = matrix.xbar_size[1] // matrix.adc_count
        back = matrix.adc_latency_cycle + shift + (conversions - 1) * max(matrix.adc_latency_cycle, shift)
        passes = (input_bits // matrix.dac_resolution) * (matrix.xbar_size[0] // matrix.dac_count)
        if matrix.pipeline_mode:
            return front + back + (passes - 1) * max(front, back)
        return (front + back) * passes

    def vector_cycles(self, op: Amount, length: Amount, precision: Precision = EIGHT_BITS) -> Ints:
        """A vector instruction on ``length`` elements. Also one-element results are charged a write of ``length``."""
        opcode, count = np.asarray(op, np.int64), np.asarray(length, np.int64)
        element_bytes = np.where(_OUTPUT_WIDTH[opcode], precision.output_bytes, precision.input_bytes)
        read = _READS[opcode] * self._local_read_ps(count * precision.input_bytes)
        beats = _ceil_div(count, self._core.vector_width)
        compute = beats * self._core.vector_latency_cycle * 1000  # in ns, whatever the period
        return self._cycles(read + compute, self._local_write_ps(count * element_bytes), 2)

    def copy_cycles(self, size_bytes: Amount) -> Ints:
        """``lmv``: a copy inside local memory; it asks for its read and its write at once."""
        return self._cycles(0, self._local_read_ps(size_bytes) + self._local_write_ps(size_bytes), 2)

    def fill_cycles(self, size_bytes: Amount) -> Ints:
        """``lldi``: a constant into local memory."""
        return self._cycles(0, self._local_write_ps(size_bytes), 2)

    def load_cycles(self, core: Amount, size_bytes: Amount) -> Ints:
        """``ld``: global to local memory. The data's way back over the network is free."""
        request = self._flight_ps(core, self.core_count, 1)
        read = _memory_ps(self._chip.global_memory_config, size_bytes, write=False)
        return self._cycles(request + read, self._local_write_ps(size_bytes), 2)

    def store_cycles(self, core: Amount, size_bytes: Amount) -> Ints:
        """``st``: local to global memory."""
        flight = self._flight_ps(core, self.core_count, size_bytes)
        write = _memory_ps(self._chip.global_memory_config, size_bytes, write=True)
        return self._cycles(self._local_read_ps(size_bytes) + flight, write, 3)

    def send_cycles(self, source: Amount, target: Amount, size_bytes: Amount) -> Ints:
        """``send`` to a core that already waits: request, answer, read. The data's flight is the receiver's time."""
        handshake = self._flight_ps(source, target, 1) + self._flight_ps(target, source, 1)
        return self._cycles(handshake, self._local_read_ps(size_bytes), 2)

    def recv_cycles(self, source: Amount, target: Amount, size_bytes: Amount) -> Ints:
        """``recv`` from a core that already waits: answer, its read, flight of the data, write.

        This is also the time that one of many messages in a row between the same two cores takes. When both cores
        arrive together, the request comes on top: ``flight_ns(source, target, 1)``.
        """
        answer = self._flight_ps(target, source, 1) + self._local_read_ps(size_bytes)
        flight = self._flight_ps(source, target, size_bytes)
        return self._cycles(answer + flight, self._local_write_ps(size_bytes), 2)

    def flight_ns(self, source: Amount, target: Amount, size_bytes: Amount) -> Ints:
        """Time on the network, in whole ns; ``core_count`` as a core is global memory."""
        flits = _ceil_div(np.asarray(size_bytes, np.int64), self.bus_width_bytes)
        latency = self.latency_ns[np.asarray(source), np.asarray(target)]
        return np.asarray(np.trunc(flits * latency), np.int64)

    def flight_cycles(self, source: Amount, target: Amount, size_bytes: Amount) -> Ints:
        """The same in cycles, of which the last one may not be taken in full."""
        return _ceil_div(self._flight_ps(source, target, size_bytes), self._period_ps)

    def local_read_ns(self, size_bytes: Amount) -> F64:
        """Time in which a core reads so much of its own memory."""
        return self._local_read_ps(size_bytes) / 1000

    def global_memory_ns(self, size_bytes: Amount, write: npt.ArrayLike) -> F64:
        """Time in which global memory reads or writes so much; other accesses wait meanwhile."""
        memory = self._chip.global_memory_config
        return np.where(write, _memory_ps(memory, size_bytes, True), _memory_ps(memory, size_bytes, False)) / 1000

    # Shorthands

    @cached_property
    def _period_ps(self) -> int:
        return int(_ps(self.period_ns))

    @property
    def _chip(self) -> ChipConfig:
        return self.architecture.chip_config

    @property
    def _core(self) -> CoreConfig:
        return self._chip.core_config

    @property
    def _matrix(self) -> MatrixConfig:
        return self._core.matrix_config

    def _local_read_ps(self, size_bytes: Amount) -> Ints:
        return _memory_ps(self._core.local_memory_config, size_bytes, write=False)

    def _local_write_ps(self, size_bytes: Amount) -> Ints:
        return _memory_ps(self._core.local_memory_config, size_bytes, write=True)

    def _flight_ps(self, source: Amount, target: Amount, size_bytes: Amount) -> Ints:
        return self.flight_ns(source, target, size_bytes) * 1000

    def _cycles(self, before_ps: Amount, last_ps: Amount, pipeline_cycles: int) -> Ints:
        """Clock edges until the instruction has left; a last step of no time at all is seen one edge later."""
        last = np.asarray(last_ps, np.int64)
        edges = _ceil_div(np.asarray(before_ps, np.int64) + last, self._period_ps)
        return edges + pipeline_cycles + (last == 0)


_READS = np.ones(OP_LIMIT, np.int64)
_READS[list(TWO_VECTOR_OPS)] = 2
_OUTPUT_WIDTH = np.zeros(OP_LIMIT, np.bool_)
_OUTPUT_WIDTH[list(OUTPUT_WIDTH_OPS)] = True


@lru_cache(maxsize=8)
def _machine(name: str, architecture: Architecture, network: Network) -> Machine:
    """One object for one content of the files: what was computed of a machine is not computed again."""
    return Machine(name, architecture, network)


@lru_cache(maxsize=8)
def _digest(chip: str, network: Network) -> str:
    """Of many cores, hashing the network takes a third of a second; passes ask for it again and again."""
    state = hashlib.sha256(chip.encode())
    state.update(np.ascontiguousarray(network.latency_ns, "<f8").tobytes())
    state.update(np.ascontiguousarray(network.energy_pj, "<f8").tobytes())
    return state.hexdigest()


def _memory_ps(memory: MemoryConfig, size_bytes: Amount, write: bool) -> Ints:
    cycles = memory.write_latency_cycle if write else memory.read_latency_cycle
    return _ps(_ceil_div(np.asarray(size_bytes, np.int64), memory.data_width) * cycles * memory.period)


def _ps(nanoseconds: npt.ArrayLike) -> Ints:
    """Whole picoseconds, the resolution of the simulator's clock, rounded half up as it does."""
    return np.asarray(np.floor(np.asarray(nanoseconds) * 1000 + 0.5), np.int64)


def _ceil_div(dividend: Ints, divisor: int) -> Ints:
    return -(-dividend // divisor)


def _write_json(path: Path, content: object, indent: int | None) -> None:
    with atomic_file(path) as temporary:
        temporary.write_text(json.dumps(content, indent=indent) + "\n", encoding="utf-8")
