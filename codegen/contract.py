"""What code generation promises, field by field: how the last IR and the finished package correspond.

It adds to what the IR says only what has to be there and can be counted beforehand: scalar instructions that load
addresses, one `setbw` a core, zeros around rows, constants.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp

from ..analysis.contract import (
    EQUAL,
    Clause,
    Contract,
    MappingFunction,
    changes_meaning,
    constant,
    equals,
    no_longer_known,
)
from ..analysis.proxies import UNNAMED, Counts, Level, Proxies, counts
from .emission import Emission, emission_of
from .isa import Op
from .package_proxies import core_name, place_digest

_SAME = (
    *("machine", "interface", "samples", "opaque_ops", "product_elements", "mvm_count", "vector_count", "host_ops"),
    *("sends", "send_bytes", "receives", "receive_bytes", "byte_hops", "weight_elements"),
    *("host_to_device_copies", "device_to_host_copies", "device_to_host_bytes"),
)
_MEMORY = ("logical_core_bytes", "physical_core_bytes")
_GONE = {
    "a stream of instructions is no IR": ("ir_ops", "ir_values", "opaque_digest"),
    "lanes have become instructions, rows addresses": (
        *("compute_instances", "scheduled_lanes", "lanes_of_node", "lane_histogram", "span_cycles", "step_count"),
        *("product_slots", "unready_reads", "read_elements", "window_elements", "message_waits_of_node"),
        "row_bytes_of_core",
        "vector_turns_of_node",
    ),
    "a yardstick is for what is decided, and nothing is any more": (
        "cores",
        "random_byte_hops",
        "live_bytes_max",
        "live_bytes",
        "needed_zero_bytes",
    ),
    "addresses are checked before, and zeros are instructions": ("plan_faults", "zeroed_bytes"),
}


def code_generation_contract(module: ModuleOp, emission: Callable[[], Emission] | None = None) -> Contract:
    """The contract for the package of this module, whose addresses are planned; ``emission`` gives
    :func:`.emission.emission_of` it, and is by default that function itself."""
    return Contract(
        {
            **dict.fromkeys(_SAME, EQUAL),
            **{name: no_longer_known(reason) for reason, names in _GONE.items() for name in names},
            **_counted(emission_of(module) if emission is None else emission()),
        },
        levels=((Level.BUFFERS, Level.PACKAGE),),
    )


def _counted(emission: Emission) -> dict[str, Clause]:
    """Fields whose value follows from the IR op by op."""
    moved = emission.moved_bytes
    busy = {core_name(core): int(cycles) for core, cycles in enumerate(emission.busy.tolist()) if cycles}
    alone = "the cycles of the IR's instructions, one by one, each executing alone"
    repeats = "what the IR copies, and constants of one number, which are stored once and repeated in local memory"
    most = emission.instructions + emission.scalars + (emission.instructions > 0)
    scalars = "at most one sldi for each register that one reads and that an offset cannot replace, and a setbw a core"
    return {
        "assignment": equals(constant(place_digest(list(emission.places))), "nodes and the cores that compute them"),
        "busy_cycles": equals(constant(counts(busy)), alone),
        "busy_cycles_max": equals(constant(int(emission.busy.max(initial=0))), alone),
        "work_cycles": equals(constant(int(emission.busy.sum())), alone),
        "makespan_cycles": equals(
            constant(emission.path.cycles()),
            "the IR's schedule, instruction by instruction: messages come between instructions, not amid them",
        ),
        "order": equals(
            constant(emission.path.order()), "messages and accesses to global memory, between the same instructions"
        ),
        "instructions": changes_meaning(constant(int(most.sum())), f"the IR's, zeros and constants, {scalars}"),
        "instructions_max": changes_meaning(constant(int(most.max(initial=0))), f"the same of one core, {scalars}"),
        "instruction_kinds": equals(_kinds(emission), f"kind by kind the IR's, zeros and constants, {scalars}"),
        "recomputed": equals(constant(0), "no register is loaded with what it holds, or for nothing"),
        "local_copies": equals(constant(emission.kinds[Op.LMV]), repeats),
        "local_copy_bytes": equals(constant(moved[Op.LMV]), repeats),
        "host_to_device_bytes": equals(constant(moved[Op.LD]), "a constant of one number is loaded once, and repeated"),
        "host_bytes": changes_meaning(
            constant(emission.global_bytes), "inputs, outputs and constants, each at a multiple of 64 bytes"
        ),
        "width": equals(constant(int((emission.instructions > 0).sum())), "cores that do anything"),
        "width_of_node": equals(constant(_width(emission)), "cores that compute something of a node"),
        **{name: equals(_within(name), "no core reaches beyond its plan") for name in _MEMORY},
    }


def _kinds(emission: Emission) -> MappingFunction:
    """Kind by kind what the emission says; `sldi` as many as there are, up to the bound, and one `setbw` a core."""
    expected = {op.name.lower(): number for op, number in emission.kinds.items() if number}
    expected[Op.SETBW.name.lower()] = int((emission.instructions > 0).sum())
    load = Op.SLDI.name.lower()

    def mapped(before: Proxies, after: Proxies) -> object:
        found = dict(after.instruction_kinds or ())
        return counts({**expected, load: min(found.get(load, 0), int(emission.scalars.sum()))})

    return mapped


def _within(name: str) -> MappingFunction:
    """What each core takes, up to what is planned for it."""

    def mapped(before: Proxies, after: Proxies) -> object:
        planned, found = getattr(before, name), getattr(after, name)
        if planned is None or found is None:
            return None
        return counts((core, min(size, dict(planned).get(core, 0))) for core, size in found)

    return mapped


def _width(emission: Emission) -> Counts:
    """On how many cores something is computed for each node."""
    return counts(Counter(name for name, _ in emission.places if name != UNNAMED))
