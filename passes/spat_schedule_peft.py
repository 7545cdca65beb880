"""`spat-schedule-peft`: a core for every replica and a step for every lane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..analysis.contract import Contract, changes_meaning, constant, decided_here, may_trade, no_longer_known
from ..analysis.core_packing import NoRoomError
from ..analysis.proxies import Level
from ..analysis.yardsticks import (
    busy_in_turn,
    dumb_order,
    dumb_schedule,
    nearer_than_at_random,
    replicas_apart,
    replicas_as_cores,
    replicas_on_cores,
)
from ..dialects.location import node_name, place_of
from ..dialects.spat import ComputeBatchOp
from ..dialects.tile import ArrayAttr
from ..lowering.lane_cost import BatchCosts, batch_arrays
from ..lowering.lane_schedule import Measured, schedule_spread
from ..lowering.placed_lanes import PlacedLanes
from ..lowering.proxies import proxies
from ..lowering.samples import samples_of
from ..lowering.target import Target, target_of
from ..support.diagnostics import TileError
from .statistics import record_statistic

MOST_INSTRUCTIONS = 10_000_000
"""Instructions that lanes may issue, without messages and loads."""

COMPILER_BYTES = 700
"""Memory that the compiler takes for each of these instructions, as measured on several samples of ShuffleNet."""


@dataclass(frozen=True)
class SpatSchedulePeftPass(ModulePass):
    """Schedules with PEFT: the replicas of a batch are the classes of its lanes.

    Since weights stay in place, cores differ: all lanes of a replica run where its weights are. That is the core where
    they finish earliest, given the times at which it is already busy; on equal cores PEFT's optimistic cost is the same
    everywhere. Lanes then run in order of their ranks, the longest path to the end, on which the lanes of a replica
    follow one another; a lane that becomes urgent interrupts what its core is running. If everything ends sooner when
    lanes run as their rows come, as where messages take most of the time, they do that instead. The schedule also says
    when each row is sent to each core that reads it (`sends`), and when each core loads the constants that it needs
    (`fetches`).
    """

    name = "spat-schedule-peft"
    contract: ClassVar[Contract] = Contract(
        {
            "scheduled_cycles": changes_meaning(
                dumb_schedule("dumb_cycles", 16), "cores in turn, waiting for rows only, end within this"
            ),
            "busy_cycles_max": changes_meaning(
                busy_in_turn,
                "no core has much more to do than the busiest of cores in turn, unless all ends soon enough even if it "
                "waits for that",
            ),
            "span_cycles": changes_meaning(
                dumb_order(8),
                "the same cores, waiting for rows only, end within this, unless all ends soon enough even if it took "
                "that much longer",
            ),
            "unready_reads": changes_meaning(constant(0), "what a lane reads has been computed, and has come"),
            "width_of_node": changes_meaning(replicas_on_cores, "a replica is on a core"),
            "product_slots": changes_meaning(replicas_apart, "a replica is on a core"),
            "width": changes_meaning(replicas_as_cores, "from here on, cores in use instead of lanes"),
            **dict.fromkeys(
                ("element_passes", "element_passes_of_node", "needless_ops", "unpacked_products"),
                no_longer_known("from here on, no pass changes what lanes compute, and their instructions are counted"),
            ),
            "vector_slots_of_node": no_longer_known("they are on cores, and what that costs is in scheduled_cycles"),
            "lane_path_cycles": no_longer_known("lanes are on cores, and follow one another there"),
            "byte_hops": changes_meaning(nearer_than_at_random, "cores are nearer to each other than at random"),
            **dict.fromkeys(
                (
                    "makespan_cycles",
                    "message_waits_of_node",
                    "row_bytes_of_core",
                    "step_count",
                    "assignment",
                    "order",
                    "busy_cycles",
                    "instructions_max",
                    "sends",
                    "send_bytes",
                    "receives",
                    "receive_bytes",
                    "host_to_device_copies",
                    "host_to_device_bytes",
                    "device_to_host_copies",
                    "device_to_host_bytes",
                ),
                decided_here("before, lanes have no cores"),
            ),
        },
        levels=((Level.GRAPH, Level.SCHEDULED),),
    )

    lead: int = 0
    """Rows that a batch may be ahead of its slowest reader; 0 for as many as memory allows."""

    def contract_with_options(self) -> Contract:
        """A lead that the user asks for may hold rows back."""
        if not self.lead:
            return SpatSchedulePeftPass.contract
        held_back = "the lead that is asked for holds rows back"
        clauses = {"span_cycles": may_trade(held_back), "scheduled_cycles": decided_here(held_back)}
        return Contract({**SpatSchedulePeftPass.contract.clauses, **clauses}, SpatSchedulePeftPass.contract.levels)

    def __post_init__(self) -> None:
        if self.lead < 0:
            raise ValueError(f"lead is {self.lead}, at least 0 expected")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        samples = samples_of(op)
        batches = [inner for inner in op.walk() if isinstance(inner, ComputeBatchOp)]
        if not batches:
            return
        costs = BatchCosts(target)
        _require_manageable(batches, costs)

        def measure(placed: PlacedLanes) -> Measured | None:
            _annotate(batches, placed)
            found = proxies(op)
            most, busiest, cycles = busy_in_turn(found, found), found.busy_cycles_max, found.scheduled_cycles
            return None if most is None or busiest is None or cycles is None else Measured(busiest > most, cycles)

        try:
            placed = schedule_spread(batches, costs, samples, self.lead, measure)
        except NoRoomError as error:
            raise _too_small(batches, target) from error
        timeline = placed.timeline
        record_statistic("makespan cycles", timeline.makespan)
        record_statistic("cycles saved by moves", placed.saved)
        _annotate(batches, placed)


def _annotate(batches: Sequence[ComputeBatchOp], placed: PlacedLanes) -> None:
    """Writes a schedule onto the batches."""
    timeline = placed.timeline
    for index, (batch, cores) in enumerate(zip(batches, placed.cores, strict=True)):
        start = timeline.start[index]
        batch.properties["cores"] = ArrayAttr.get(cores.astype(np.int32))
        batch.properties["steps"] = ArrayAttr.get(start)
        batch.properties["spans"] = ArrayAttr.get(timeline.finish[index] - start)
        batch.properties["resumes"] = ArrayAttr.get(timeline.resumes[index])
        batch.properties["sends"] = ArrayAttr.get(timeline.messages[index])
        batch.properties.pop("fetches", None)
        if len(timeline.fetches[index]):
            batch.properties["fetches"] = ArrayAttr.get(timeline.fetches[index])


def _require_manageable(batches: list[ComputeBatchOp], costs: BatchCosts) -> None:
    """Refuses a program that would take the compiler hours, or more memory than computers have, before it begins."""
    sizes = [(batch.lane_count * len(costs.of(batch).begins), batch) for batch in batches]
    total = sum(size for size, _ in sizes)
    if total > MOST_INSTRUCTIONS:
        most, batch = max(sizes, key=lambda one: one[0])
        lanes = sum(one.lane_count for one in batches)
        raise TileError(
            place_of(batch),
            f"it takes {most} instructions, the whole program {total} in {lanes} lanes, for which the compiler needs "
            f"about {-(-total * COMPILER_BYTES >> 30)} GiB of memory; at most {MOST_INSTRUCTIONS} can be made",
            "compile for fewer samples, or smaller images",
        )


def _too_small(batches: list[ComputeBatchOp], target: Target) -> TileError:
    """How many arrays the model needs, what the machine has, and the layers that need most."""
    needs: dict[str, int] = {}
    for batch in batches:
        layer = node_name(batch).partition("+")[0] or "layer"
        needs[layer] = needs.get(layer, 0) + batch.replica_count * batch_arrays(batch, target)
    machine = target.machine
    largest = sorted(needs.items(), key=lambda item: (-item[1], item[0]))[:3]
    return TileError(
        f"machine '{machine.name}'",
        f"the model needs {sum(needs.values())} arrays, most for "
        f"{', '.join(f'{name} ({count})' for name, count in largest)}; the machine has "
        f"{machine.core_count} cores x {machine.arrays_per_core} = {machine.core_count * machine.arrays_per_core}, "
        "and no placement fits",
        "use a machine with more cores or more arrays per core",
    )
