"""What each layer of a program occupies, executes and takes, as columns: one entry a layer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...codegen.isa import Op
from ...support.arrays import Ints
from .costs import arrays_of
from .elements import Kind, kinds_of
from .executed_path import ALL_USES, PATH_USES, executed_path
from .recording import Recording
from .stream import IS_SCALAR

BUSY_UNITS = ("matrix", "vector", "transfer", "scalar")
"""Array groups, all together; the vector and the transfer unit; the front end, a cycle for each scalar instruction."""

_COMPUTES = (Kind.MATRIX, Kind.VECTOR)


@dataclass(frozen=True, eq=False)
class LayerTimes:
    """n layers. Times in ps."""

    cores: Ints
    """How many cores compute something of each."""
    arrays: Ints
    """In the groups that its products drive."""
    matrix_products: Ints
    vector_instructions: Ints
    scalar_instructions: Ints
    instructions: Ints
    """All of them."""
    sent_bytes: Ints
    begin_ps: Ints
    """When the first instruction begins in its unit; -1 if there is none that has one."""
    end_ps: Ints
    """When the last one ends there."""
    busy_ps: Ints
    """[n, len(BUSY_UNITS)]"""
    path_ps: Ints
    """[n, len(PATH_USES)] the part of the critical path that lies in each."""
    waits_ps: Ints
    """[len(PATH_WAITS)] the rest of the critical path: that and ``path_ps`` sum up to the latency."""
    cores_used: int
    """That compute something of any layer."""


def layer_times(recording: Recording, layer: Ints, count: int) -> LayerTimes:
    """The columns for a run on whose end all cores have finished; ``layer`` has the number of every instruction's."""
    stream = recording.run.stream
    kind, core = kinds_of(stream), stream.core_of_rows()
    computes = np.isin(kind, _COMPUTES)
    units, scalars = recording.units, recording.scalars
    begin, end = np.full(count, np.iinfo(np.int64).max), np.full(count, -1)
    np.minimum.at(begin, layer[units.row], units.begin_ps)
    np.maximum.at(end, layer[units.row], units.end_ps)
    busy = np.zeros((count, len(BUSY_UNITS)), np.int64)
    unit = np.select([kind == Kind.MATRIX, kind == Kind.VECTOR], [0, 1], 2)[units.row]
    np.add.at(busy, (layer[units.row], unit), units.end_ps - units.begin_ps)
    busy[:, 3] = np.bincount(layer[scalars.row], minlength=count) * recording.period_ps
    path = executed_path(recording)
    shares = np.zeros((count + 1, len(ALL_USES)), np.int64)
    np.add.at(shares, (np.where(path.row < 0, count, layer[path.row]), path.use), path.time_ps)
    work = len(PATH_USES)
    assert not shares[count, :work].any(), "all work on the path is some instruction's"
    return LayerTimes(
        _distinct_cores(layer[computes], core[computes], count, stream.core_count),
        _arrays(recording, layer, count),
        np.bincount(layer[stream.op == Op.MVMUL], minlength=count),
        np.bincount(layer[kind == Kind.VECTOR], minlength=count),
        np.bincount(layer[IS_SCALAR[stream.op]], minlength=count),
        np.bincount(layer, minlength=count),
        np.bincount(layer, stream.size * (stream.op == Op.SEND), count).astype(np.int64),
        np.where(end < 0, -1, begin),
        end,
        busy,
        shares[:count, :work],
        shares[:, work:].sum(axis=0),
        len(np.unique(core[computes])),
    )


def _distinct_cores(layer: Ints, core: Ints, count: int, cores: int) -> Ints:
    """On how many cores each layer is."""
    return np.bincount(np.unique(layer * cores + core) // max(cores, 1), minlength=count)


def _arrays(recording: Recording, layer: Ints, count: int) -> Ints:
    """Arrays of the groups that each layer's products drive."""
    stream = recording.run.stream
    products = np.flatnonzero(stream.op == Op.MVMUL)
    group = stream.group[products]
    place = (layer[products] * stream.core_count + stream.core_of_rows()[products]) * (group.max(initial=0) + 1) + group
    _, first = np.unique(place, return_index=True)
    one_each = products[first]
    return np.bincount(layer[one_each], arrays_of(stream)[one_each], count).astype(np.int64)
