"""What makes PEFT cheap on networks: classes of equal tasks, and closed forms for the instances of a class.

*Classes.* The optimistic cost of a task depends on its successors only through the set of (their optimistic cost and
costs, comm), as maximum and minimum ignore multiplicity. Tasks of equal cost rows whose successors are equal in this
sense are therefore one class (a bisimulation, computed from the exits upwards), and the quotient graph has the same
optimistic cost table. Keys are exact, never hashes that could collide.

*Lanes.* One core that runs instances in order finishes them at times that one running maximum gives.

*Water filling.* Giving identical tasks to the core of earliest finish, one by one, ends in counts that a bisection
over the common finish gives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .peft import INFEASIBLE, Ints, TaskGraph, levels


@dataclass(frozen=True, eq=False)
class Classes:
    """The v tasks of a graph in c classes."""

    graph: TaskGraph
    """One task a class; edges are those of one member, each (class, comm) once."""
    of_task: Ints
    """[v] class of each task. Ids ascend with the height in the graph, then with the first member."""


def quotient(graph: TaskGraph) -> Classes:
    """The coarsest classes: the table of ``classes.graph``, taken at ``classes.of_task``, is that of ``graph``."""
    rows: dict[bytes, int] = {}
    row_of_task = np.array([rows.setdefault(row.tobytes(), len(rows)) for row in graph.cost], dtype=np.int64)
    distinct = np.frombuffer(b"".join(rows), dtype=np.int64).reshape(-1, graph.core_count)
    edges = np.stack((graph.src, graph.dst, graph.comm), axis=1)
    return quotient_of_rows(row_of_task, distinct, edges, graph.distance)


def quotient_of_rows(row_of_task: Ints, rows: Ints, edges: Ints, distance: Ints | None = None) -> Classes:
    """As :func:`quotient` for tasks [v] that name their row of ``rows`` [u, p], so that no [v, p] table need exist.

    ``edges`` [e, 3] are (src, dst, comm). Equal rows should have one number, else the classes are finer than need be.
    """
    thin = TaskGraph.build(row_of_task[:, None], edges)
    of_task = np.zeros(thin.task_count, dtype=np.int64)
    known: dict[bytes, int] = {}
    for tasks in levels(thin):
        for task, key in zip(tasks.tolist(), _keys(thin, of_task, tasks), strict=True):
            of_task[task] = known.setdefault(key, len(known))
    keys = [np.frombuffer(key, dtype=np.int64) for key in known]
    class_edges = [(number, dst, comm) for number, key in enumerate(keys) for dst, comm in key[1:].reshape(-1, 2)]
    row_of_class = np.array([key[0] for key in keys], dtype=np.int64)
    return Classes(TaskGraph.build(rows[row_of_class], class_edges, distance), of_task)


def validate_classes(graph: TaskGraph, classes: Classes) -> list[str]:
    """Lists what keeps ``classes`` from being a bisimulation of ``graph``, in words; empty when it is one.

    Any such classes keep the optimistic cost table, also finer ones than :func:`quotient` finds.
    """
    faults: list[str] = []
    out: list[set[tuple[int, int]]] = [set() for _ in range(graph.task_count)]
    for edge in range(graph.edge_count):
        out[int(graph.src[edge])].add((int(classes.of_task[graph.dst[edge]]), int(graph.comm[edge])))
    class_out: list[set[tuple[int, int]]] = [set() for _ in range(classes.graph.task_count)]
    for edge in range(classes.graph.edge_count):
        class_out[int(classes.graph.src[edge])].add((int(classes.graph.dst[edge]), int(classes.graph.comm[edge])))
    for task, number in enumerate(classes.of_task.tolist()):
        if graph.cost[task].tolist() != classes.graph.cost[number].tolist():
            faults.append(f"task {task} does not cost what its class {number} costs")
        if out[task] != class_out[number]:
            faults.append(f"task {task} does not have the successors of its class {number}")
    return faults


def lane_finish(ready: Ints, cycles: npt.ArrayLike, available: npt.ArrayLike = 0) -> Ints:
    """Finish [..., q] of q instances that a core runs in order, each once it is ``ready`` [..., q].

    ``cycles`` is the length of an instance, one number or [..., q]; the core is free from ``available`` [...] on.
    Solves f[q] = max(f[q - 1], ready[q]) + cycles[q] with f[-1] = available: with C[q] the cycles before q,
    f[q] = C[q + 1] + max(available, max over s <= q of ready[s] - C[s]).
    """
    lengths = np.broadcast_to(np.asarray(cycles, dtype=np.int64), ready.shape)
    through = np.cumsum(lengths, axis=-1)
    slack = np.maximum.accumulate(ready - (through - lengths), axis=-1)
    return through + np.maximum(slack, np.asarray(available, dtype=np.int64)[..., None])


def strided_lanes(count: int, lanes: int) -> list[Ints]:
    """Instances 0..count - 1 dealt to ``lanes`` in turn: lane i has i, i + lanes, i + 2 lanes, ..."""
    return [np.arange(lane, count, lanes) for lane in range(lanes)]


def block_lanes(count: int, lanes: int) -> list[Ints]:
    """Instances 0..count - 1 cut into ``lanes`` runs whose lengths differ by one at most, longer first."""
    return np.array_split(np.arange(count), lanes)


def water_fill(count: int, ready: int, cycles: npt.ArrayLike, available: Ints) -> tuple[Ints, int]:
    """([p] tasks given to each core, cycle at which the last one finishes) for ``count`` identical tasks.

    The tasks are ready at ``ready``; core j is free from ``available[j]`` and takes ``cycles`` (one number or [p], at
    least 1, or INFEASIBLE) for one. Equal to giving them one by one to the core of earliest finish, lowest id among
    equals. O(p log(count * cycles)). Raises ValueError when tasks but no core to run them exist.
    """
    base = np.maximum(available, ready)
    lengths = np.broadcast_to(np.asarray(cycles, dtype=np.int64), base.shape)
    usable = lengths < INFEASIBLE
    if count == 0:
        return np.zeros_like(base), ready
    if not usable.any():
        raise ValueError(f"{count} tasks and no core that can run them")
    if lengths.min() < 1:
        raise ValueError("tasks of no cycles would all finish at once on one core")

    def finished_by(cycle: int) -> Ints:
        return np.where(usable, np.maximum(cycle - base, 0) // lengths, 0)

    low, high = ready, int((base + count * np.where(usable, lengths, 0))[usable].min())
    while low < high:  # the least cycle by which all tasks can have finished
        middle = (low + high) // 2
        if int(finished_by(middle).sum()) >= count:
            high = middle
        else:
            low = middle + 1
    taken = finished_by(high - 1)
    last = np.flatnonzero(finished_by(high) > taken)  # cores on which a task finishes exactly then
    taken[last[: count - int(taken.sum())]] += 1
    return taken, high


def _keys(graph: TaskGraph, of_task: Ints, tasks: Ints) -> list[bytes]:
    """For each task of a level the bytes of (its row, its sorted distinct (class, comm) of successors)."""
    counts = graph.first_out[tasks + 1] - graph.first_out[tasks]
    edges = graph.out_edges(tasks)
    owner = np.repeat(np.arange(tasks.size), counts)
    pairs = np.stack((owner, of_task[graph.dst[edges]], graph.comm[edges]), axis=1)
    pairs = pairs[np.lexsort(pairs.T[::-1])]
    pairs = pairs[np.append(True, (pairs[1:] != pairs[:-1]).any(axis=1))[: len(pairs)]]
    bounds = np.searchsorted(pairs[:, 0], np.arange(tasks.size + 1)).tolist()
    sets, rows = np.ascontiguousarray(pairs[:, 1:]), graph.cost[tasks]
    return [rows[i].tobytes() + sets[bounds[i] : bounds[i + 1]].tobytes() for i in range(tasks.size)]
