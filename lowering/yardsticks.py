"""Proxies of batches beside their instructions and their schedule: what they need not do, and yardsticks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from ..analysis.critical_path import SpanBatch
from ..analysis.layer_cuts import BUDGET, deal_arrays, ways_of
from ..analysis.machine import Machine
from ..analysis.proxies import UNNAMED, Counts, counts
from ..analysis.yardsticks import byte_hops_at_random, deal_cores
from ..dialects import pim, spat
from .batch_program import BatchProgram
from .body_costs import Amounts, by_node
from .body_memory import TileBody
from .layer_shapes import layers_of
from .proxies_memory import buffer_elements, needs_of_plan, overwritten, zeroed_bytes
from .target import Target
from .tile_counts import element_passes, needless_ops, repeatable_constants, unpacked_products

Parts = dict[str, dict[str, int]]

Constants = tuple[tuple[int, tuple[int, ...]], ...]


def add_yardsticks(program: BatchProgram, found: dict[str, object], parts: Parts) -> None:
    """Adds the fields to ``found``, and by field what each node adds to it to ``parts``."""
    target = program.target
    held = [batch for batch in program.batches if batch.cost.products]
    found["product_slots"] = sum(b.replicas if b.schedule is None else len(b.core_set) for b in held)
    if target is not None:
        found["cores"] = target.machine.core_count
    on_tiles = all(isinstance(body, TileBody) for body in program.bodies)
    if not program.scheduled:
        found["layer_slots_of_node"] = _layer_slots(program)
    if on_tiles and not program.scheduled:
        _add_counts(program, found, parts)
    elif not on_tiles and target is not None:
        _add_memory(program, target, found)
    sent = found.get("send_bytes")
    if target is not None and isinstance(sent, int):
        found["random_byte_hops"] = byte_hops_at_random(sent, target.machine.hops)


def dealt_batches(program: BatchProgram, batches: Sequence[SpanBatch], machine: Machine) -> list[SpanBatch]:
    """The batches with as many replicas as each layer with weights gets when cores are dealt one by one: a replica is
    one of all parts of the layer, each on a core of its own. The others keep their share of the cores, by work."""
    layers: dict[object, list[int]] = {}
    for index, batch in enumerate(program.batches):
        if batch.cost.products:
            layers.setdefault(index if batch.names == [UNNAMED] else (batch.lanes, *batch.names), []).append(index)
    lanes = [batches[parts[0]].lanes for parts in layers.values()]
    cycles = [max(batches[index].cycles for index in parts) for parts in layers.values()]
    work = sum(batch.lanes * batch.cycles for batch in batches)
    held = sum(batches[index].lanes * batches[index].cycles for parts in layers.values() for index in parts)
    share = machine.core_count * held // max(1, work)
    dealt = deal_cores(lanes, cycles, share, [len(parts) for parts in layers.values()])
    slots = {index: count for parts, count in zip(layers.values(), dealt, strict=True) for index in parts}
    return [batch._replace(slots=slots.get(index, batch.slots)) for index, batch in enumerate(batches)]


class Cut(NamedTuple):
    """A program whose layers are cut and replicated in a dumb way."""

    batches: list[SpanBatch]
    core_cycles: int
    """What the work of all batches comes to on each core, if all have the same."""


def cut_batches(program: BatchProgram, batches: Sequence[SpanBatch], target: Target) -> Cut | None:
    """The batches with layers cut in a dumb way (`layer_cuts.py`), whatever has become of them. Those whose shape
    cannot be told stay as they are. None once products are fused with what comes after them, when cuts are decided."""
    sums = sums_given(program)
    if not all(all(given) for batch, given in zip(program.batches, sums, strict=True) if batch.cost.products):
        return None
    layers = layers_of(program, sums)
    machine = target.machine
    ways = [ways_of(layer.shape, machine, target.precision) for layer in layers]
    layers = [layer for layer, mine in zip(layers, ways, strict=True) if mine.arrays]
    ways = [mine for mine in ways if mine.arrays]
    part, whole = BUDGET
    arrays = machine.core_count * machine.arrays_per_core * part // whole
    plans = deal_arrays([layer.shape for layer in layers], ways, machine.core_count, arrays)
    cut = list(batches)
    work = 0
    for layer, mine, plan in zip(layers, ways, plans, strict=True):
        for index in layer.products:
            cut[index] = batches[index]._replace(slots=plan.replicas, cycles=mine.cycles[plan.way])
        for index in layer.sums:
            cut[index] = batches[index]._replace(cycles=0)
        work += layer.shape.lanes * mine.cores[plan.way] * mine.cycles[plan.way]
    of_layers = {index for layer in layers for index in (*layer.products, *layer.sums)}
    work += sum(one.lanes * one.cycles for index, one in enumerate(batches) if index not in of_layers)
    return Cut(cut, work // machine.core_count)


def _layer_slots(program: BatchProgram) -> Counts:
    """Replicas of the batches without weights of each node, if each of them had as many as the layer that it belongs
    to: one, if it belongs to none."""
    of_layer: dict[str, int] = {}
    for batch in program.batches:
        for name in batch.names if batch.cost.products else ():
            of_layer[name] = max(of_layer.get(name, 1), batch.replicas)
    found = Counter[str]()
    for batch in program.batches:
        if not batch.cost.products:
            found["+".join(batch.names)] += max([of_layer.get(name, 1) for name in batch.names])
    return counts(found)


def order_digest(program: BatchProgram) -> str:
    """Stands for the places of all lanes, and of constants that are loaded, in the order of the chip, counted from the
    first lane; whatever the order of batches in the text."""
    fetches = [batch.fetches for batch in program.batches]
    planned = tuple([None if table is None else (table.shape, table.tobytes()) for table in fetches])

    def digest() -> str:
        first = min(batch.scheduled.first_step for batch in program.batches)
        parts: list[bytes] = []
        for batch, table in zip(program.batches, fetches, strict=True):
            loads = b"" if table is None else (table - np.array([0, 0, first])).tobytes()
            parts.append(f"{'+'.join(batch.names)} ".encode() + batch.scheduled.order_from(first) + loads)
        return blake2b(b"".join(sorted(parts)), digest_size=8).hexdigest()

    return program.by_lanes.once(("order", planned), digest)


def sums_read(program: BatchProgram) -> list[tuple[bool, ...]]:
    """Of the inputs of each batch of tiles, which are products, or sums of slices of them."""
    return _sums(program)[0]


def sums_given(program: BatchProgram) -> list[tuple[bool, ...]]:
    """The same of its results."""
    return _sums(program)[1]


def _sums(program: BatchProgram) -> tuple[list[tuple[bool, ...]], list[tuple[bool, ...]]]:
    read: list[tuple[bool, ...]] = []
    given: list[tuple[bool, ...]] = []
    for batch, body in zip(program.batches, program.bodies, strict=True):
        assert isinstance(body, TileBody)
        inputs = list(map(program.values.get, map(id, batch.operands[0])))
        read.append(tuple([t is not None and t.producer is not None and given[t.producer][t.result] for t in inputs]))
        given.append(element_passes(body.content, read[-1])[1])
    return read, given


def _add_counts(program: BatchProgram, found: dict[str, object], parts: Parts) -> None:
    """Counts of tile ops by node."""
    machine = None if program.target is None else program.target.machine
    columns = None if program.target is None else program.target.array_columns
    size = None if machine is None or columns is None else (machine.array_rows, columns)
    totals = {
        name: Counter[str]() for name in ("element_passes_of_node", "needless_ops", "unpacked_products", "products")
    }
    for batch, body, sums in zip(program.batches, program.bodies, sums_read(program), strict=True):
        assert isinstance(body, TileBody)
        assert isinstance(batch.op, spat.BatchOp)
        amounts, candidates = body.once(("counts", size, sums), partial(_counts_of, body, size, sums))
        repeated = by_node(body.names, _repeated_columns(batch.op, candidates)) if candidates else {}
        for name, mine in (*amounts.items(), ("needless_ops", repeated)):
            for node, number in mine.items():
                totals[name][node] += batch.lanes * number
    # All products of a layer do as many columns at a time: if one cannot do two, none does.
    unpacked, products = totals["unpacked_products"], totals.pop("products")
    for node in [node for node, number in unpacked.items() if node != UNNAMED and number < products[node]]:
        del unpacked[node]
    parts |= {name: dict(total) for name, total in totals.items()}
    passes = parts["element_passes"] = parts["element_passes_of_node"]
    found |= {"element_passes_of_node": counts(passes), "element_passes": sum(passes.values())}
    found["needless_ops"] = sum(totals["needless_ops"].values())
    if machine is not None:
        found["unpacked_products"] = sum(totals["unpacked_products"].values())


def _counts_of(
    body: TileBody, size: tuple[int, int] | None, sums: tuple[bool, ...]
) -> tuple[dict[str, dict[str, int]], Constants]:
    """Counts of a body by node, for arrays of this size; and constants of which one column may do."""
    content = body.content
    passes, _ = element_passes(content, sums)
    amounts: dict[str, Amounts] = {
        "element_passes_of_node": passes,
        "needless_ops": needless_ops(content, None if size is None else size[0]),
    }
    if size is not None:
        amounts["unpacked_products"], amounts["products"] = unpacked_products(content, *size)
    found = {name: by_node(body.names, mine) for name, mine in amounts.items()}
    return found, repeatable_constants(content)


def _repeated_columns(batch: spat.BatchOp, candidates: Sequence[tuple[int, tuple[int, ...]]]) -> Amounts:
    """The ops that read a constant whose columns are all the same, though one would do."""
    weights = batch.split_operands[1] if candidates else ()
    return tuple((position, 1) for index, positions in candidates for position in positions if _repeats(weights[index]))


def _repeats(value: object) -> bool:
    owner = getattr(value, "owner", None)
    if not isinstance(owner, spat.ConstantOp) or not owner.value.has_data:
        return False
    array = owner.value.array
    return bool((array[1] == array[0]).all()) and bool(np.all(array == array[:1]))


def _add_memory(program: BatchProgram, target: Target, found: dict[str, object]) -> None:
    """What buffers take, before they have addresses; then, what of them lives at the same time."""
    if any(isinstance(op, pim.ProgramOp) and op.peak_bytes is not None for op in program.others):
        found["zeroed_bytes"] = zeroed_bytes(program, target)
        found |= needs_of_plan(program, target)._asdict()
        return
    size = target.element_bytes
    found["buffer_bytes"] = size * buffer_elements(program, target)
    if not any(isinstance(batch.op, pim.CoreBatchOp) and not batch.op.results for batch in program.batches):
        saved: list[tuple[int, int, int]] = []
        for batch in program.batches:
            saved.append((batch.lanes, *batch.body.once("overwritten", partial(overwritten, batch.body_ops))))
        found["overwritten"] = sum(lanes * values for lanes, values, _ in saved)
        found["overwritten_bytes"] = size * sum(lanes * elements for lanes, _, elements in saved)
