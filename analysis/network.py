"""The network of a machine: time and energy of one flit between every two cores, and to global memory.

The simulator has no topology and no contention on links: ``n`` bytes take ``ceil(n / bus_width) * latency[src][dst]``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ..support.arrays import Ints
from .architecture import MeshConfig
from .json_record import RecordReader

F64 = npt.NDArray[np.float64]
Table = dict[str, dict[str, float]]

_MOST_NS = 1e9
_MOST_PJ = 1e9


@dataclass(frozen=True, eq=False)
class Network:
    """Per flit, from row to column; the last row and column are global memory. A core reaches itself in no time."""

    latency_ns: F64
    energy_pj: F64

    @classmethod
    @lru_cache(maxsize=4)
    def from_mesh(cls, mesh: MeshConfig, layout: tuple[int, int], core_count: int) -> Network:
        """The network that a mesh's rule describes; one object for one rule, as every pass loads its machine anew."""
        latency = np.full((core_count + 1, core_count + 1), mesh.memory_latency)
        latency[:-1, :-1] = mesh.base_latency + mesh.hop_latency * mesh_hops(layout, core_count)
        energy = np.full_like(latency, mesh.energy)
        for table in (latency, energy):
            np.fill_diagonal(table, 0.0)
            table.flags.writeable = False
        return cls(latency, energy)

    @classmethod
    def from_table(
        cls, reader: RecordReader, table: object, core_count: int, memory_id: int, complete: bool
    ) -> Network:
        """Reads a network file's content. Entries of cores that the machine does not have are passed over.

        The simulator counts a missing entry as 0; with ``complete`` it is a mistake.
        """
        parts = reader.mapping(table, "")
        latency = _square(reader, parts.get("latency"), "latency", core_count, memory_id, _MOST_NS)
        energy = _square(reader, parts.get("energy"), "energy", core_count, memory_id, _MOST_PJ)
        if complete and not reader.errors:
            _report_missing(reader, latency, memory_id)
        tables = np.nan_to_num(latency, nan=0.0), np.nan_to_num(energy, nan=0.0)
        for found in tables:
            found.flags.writeable = False
        return cls(*tables)

    def to_table(self, memory_id: int) -> dict[str, Table]:
        """The content of a network file."""
        return {"latency": _rows(self.latency_ns, memory_id), "energy": _rows(self.energy_pj, memory_id)}


@lru_cache(maxsize=4)
def mesh_hops(layout: tuple[int, int], core_count: int) -> Ints:
    """Manhattan distances between cores that are numbered row by row on a mesh of ``layout`` rows and columns."""
    row, column = np.divmod(np.arange(core_count), layout[1])
    hops = np.abs(row[:, None] - row) + np.abs(column[:, None] - column)
    hops.flags.writeable = False
    return hops


def _square(reader: RecordReader, part: object, name: str, core_count: int, memory_id: int, most: float) -> F64:
    """One part of a network file as a matrix; NaN where there is no entry."""
    index = {str(core): core for core in range(core_count)} | {str(memory_id): core_count}
    square = np.full((core_count + 1, core_count + 1), np.nan)
    np.fill_diagonal(square, 0.0)
    if part is None:
        return square
    for source, row in reader.mapping(part, name).items():
        if not _is_id(source):
            reader.error(f"{name}.{source}", "is no core number")
        at = index.get(source)
        for target, value in reader.mapping(row, f"{name}.{source}").items():
            column = index.get(target)
            if at is not None and column is not None and isinstance(value, int | float) and 0.0 <= value <= most:
                if not isinstance(value, bool):  # as nearly all are: what follows says what is wrong with the others
                    square[at, column] = value
                    continue
            path = f"{name}.{source}.{target}"
            number = reader.real(value, path, 0.0, most)
            if not _is_id(target):
                reader.error(path, "is no core number")
            elif number is not None and at is not None and column is not None:
                square[at, column] = number
    return square


def _is_id(key: str) -> bool:
    return key.removeprefix("-").isdecimal()


def _report_missing(reader: RecordReader, latency: F64, memory_id: int) -> None:
    missing = np.argwhere(np.isnan(latency))
    if not len(missing):
        return
    core_count = len(latency) - 1
    source, target = (memory_id if end == core_count else int(end) for end in missing[0])
    more = f" (and {len(missing) - 1} more entries)" if len(missing) > 1 else ""
    reader.error(
        f"latency.{source}.{target}",
        f"is missing{more}: the network must reach every core and global memory from each of the {core_count} cores",
        "add the entries or lower chip_config.core_cnt",
    )


def _rows(square: F64, memory_id: int) -> Table:
    names = [str(core) for core in range(len(square) - 1)] + [str(memory_id)]
    return {
        source: {target: _plain(value) for target, value in zip(names, row, strict=True) if target != source}
        for source, row in zip(names, square.tolist(), strict=True)
    }


def _plain(value: float) -> float:
    return int(value) if value == int(value) else value
