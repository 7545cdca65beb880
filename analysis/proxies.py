"""Runtime proxies: what a program costs and how parallel it is, in numbers that are computed from it alone.

One :class:`Proxies` record describes a program at one level. A field that the level cannot know is None, never zero.
Two records are compared field by field (:mod:`.proxy_changes`); what a change of a field means stands beside the field.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias, cast

from ..support.json_values import Kind, entry, require

Counts: TypeAlias = "tuple[tuple[str, int], ...]"
"""A number for each network node (or core), in order of the name."""


UNNAMED = "<unnamed>"
"""Stands for all ops without a node name. They cannot be told apart, so that their lanes are not compared."""


class Better(Enum):
    """Which direction of a field is good."""

    LESS = "less is better"
    MORE = "more is better"
    SAME = "has to stay"
    SHOWN = "is shown, not judged"


class Level(Enum):
    """What a program is written in, from high to low."""

    EMPTY = "empty"
    OPAQUE = "opaque"
    ONNX = "onnx"
    GRAPH = "spat graph"
    SCHEDULED = "spat scheduled"
    TENSORS = "pim tensors"
    BUFFERS = "pim buffers"
    PACKAGE = "package"


def _about(better: Better, title: str, by_results: bool = False) -> dict[str, object]:
    return {"better": better, "title": title, "by_results": by_results}


@dataclass(frozen=True)
class Proxies:
    """The proxies of one program at one level."""

    level: Level = dataclasses.field(metadata={"better": Better.SAME, "title": "level"})

    # What it is
    machine: str | None = dataclasses.field(default=None, metadata=_about(Better.SAME, "machine and precision"))
    interface: str | None = dataclasses.field(default=None, metadata=_about(Better.SAME, "inputs and outputs"))
    samples: int | None = dataclasses.field(
        default=None, metadata=_about(Better.SAME, "samples that are computed at once")
    )
    opaque_ops: int | None = dataclasses.field(
        default=None, metadata=_about(Better.SAME, "ops of dialects that the guard does not know")
    )
    opaque_digest: str | None = dataclasses.field(default=None, metadata=_about(Better.SAME, "content of these ops"))
    ir_ops: int | None = dataclasses.field(default=None, metadata=_about(Better.SHOWN, "IR ops"))
    ir_values: int | None = dataclasses.field(default=None, metadata=_about(Better.SHOWN, "IR values"))

    # Parallelism
    compute_instances: int | None = dataclasses.field(default=None, metadata=_about(Better.MORE, "compute instances"))
    graph_lanes: int | None = dataclasses.field(default=None, metadata=_about(Better.MORE, "lanes of graph batches"))
    scheduled_lanes: int | None = dataclasses.field(
        default=None, metadata=_about(Better.MORE, "lanes of scheduled batches")
    )
    lanes_of_node: Counts | None = dataclasses.field(default=None, metadata=_about(Better.MORE, "lanes by node"))
    width_of_node: Counts | None = dataclasses.field(
        default=None, metadata=_about(Better.MORE, "lanes at once, by node")
    )
    vector_turns_of_node: Counts | None = dataclasses.field(
        default=None,
        metadata=_about(Better.LESS, "lanes that follow one another in batches without weights, by node"),
    )
    vector_slots_of_node: Counts | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "replicas of batches without weights, by node")
    )
    product_slots: int | None = dataclasses.field(
        default=None, metadata=_about(Better.MORE, "replicas of layers, each on a core of its own")
    )
    lane_histogram: Counts | None = dataclasses.field(
        default=None, metadata=_about(Better.SHOWN, "batches by number of lanes")
    )
    width: int | None = dataclasses.field(default=None, metadata=_about(Better.MORE, "lanes that run at once"))
    span_cycles: int | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "critical path in cycles, transfers at no cost")
    )
    lane_path_cycles: int | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "critical path in cycles, each lane on a core of its own")
    )
    makespan_cycles: int | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "critical path in cycles, with transfers")
    )
    scheduled_cycles: int | None = dataclasses.field(
        default=None,
        metadata=_about(Better.LESS, "critical path in cycles, with transfers as they are planned"),
    )
    clock_cycles: int | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "latency in cycles, by the clock")
    )
    step_count: int | None = dataclasses.field(default=None, metadata=_about(Better.LESS, "steps"))
    assignment: str | None = dataclasses.field(
        default=None, metadata=_about(Better.SAME, "classes and their cores", by_results=True)
    )
    order: str | None = dataclasses.field(
        default=None, metadata=_about(Better.SAME, "order of lanes, and of the transfers of a package", by_results=True)
    )
    busy_cycles: Counts | None = dataclasses.field(default=None, metadata=_about(Better.SHOWN, "busy cycles by core"))
    busy_cycles_max: int | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "busy cycles of the busiest core")
    )

    # Work
    work_cycles: int | None = dataclasses.field(default=None, metadata=_about(Better.LESS, "work in cycles"))
    macs: int | None = dataclasses.field(default=None, metadata=_about(Better.LESS, "multiplications by weights"))
    element_passes: int | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "elements computed by vector operations")
    )
    element_passes_of_node: Counts | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "elements computed by vector operations, by node")
    )
    needless_ops: int | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "ops of lanes that need not be")
    )
    unpacked_products: int | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "matrix products of which an array could do two at a time")
    )
    layer_elements: Counts | None = dataclasses.field(
        default=None, metadata=_about(Better.SHOWN, "elements of layers with weights")
    )
    partial_sums: Counts | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "elements of sums of slices, by node")
    )
    added_again: Counts | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "elements that more than one sum of slices adds, by node")
    )
    product_elements: Counts | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "elements of matrix products, by node")
    )
    mvm_count: int | None = dataclasses.field(default=None, metadata=_about(Better.LESS, "matrix products"))
    vector_count: int | None = dataclasses.field(default=None, metadata=_about(Better.LESS, "vector instructions"))
    instructions: int | None = dataclasses.field(default=None, metadata=_about(Better.LESS, "instructions"))
    instructions_max: int | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "instructions of one core")
    )
    instruction_kinds: Counts | None = dataclasses.field(
        default=None, metadata=_about(Better.SHOWN, "instructions by kind")
    )
    read_elements: int | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "elements of the rows that lanes read")
    )
    window_elements: int | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "elements of the windows of lanes, with zeros around rows")
    )
    constant_elements: int | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "elements of constants that are read, but weights of layers")
    )
    layer_reads: int | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "elements that layers with weights read")
    )
    layer_rows: int | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "rows of layers, of which each takes a product at least")
    )
    pass_depths: int | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "steps up to each element that is computed, of all elements")
    )
    work_depths: int | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "work up to each element that is computed, of all elements")
    )
    work_of_output: Counts | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "work up to each output of the network")
    )
    recomputed: int | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "ops that compute what is there already")
    )
    host_ops: int | None = dataclasses.field(default=None, metadata=_about(Better.LESS, "ops left to the host"))

    # Communication
    sends: int | None = dataclasses.field(default=None, metadata=_about(Better.LESS, "messages sent"))
    send_bytes: int | None = dataclasses.field(default=None, metadata=_about(Better.LESS, "bytes sent"))
    receives: int | None = dataclasses.field(default=None, metadata=_about(Better.LESS, "messages received"))
    receive_bytes: int | None = dataclasses.field(default=None, metadata=_about(Better.LESS, "bytes received"))
    byte_hops: int | None = dataclasses.field(default=None, metadata=_about(Better.LESS, "bytes x hops"))
    message_waits_of_node: Counts | None = dataclasses.field(
        default=None,
        metadata=_about(Better.LESS, "steps for which computed rows wait to be sent, by node", by_results=True),
    )

    unready_reads: int | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "reads and sends of rows that are not there")
    )

    # Copies
    local_copies: int | None = dataclasses.field(default=None, metadata=_about(Better.LESS, "local copies"))
    local_copy_bytes: int | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "bytes of local copies")
    )
    host_to_device_copies: int | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "copies from host to device")
    )
    host_to_device_bytes: int | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "bytes from host to device")
    )
    device_to_host_copies: int | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "copies from device to host")
    )
    device_to_host_bytes: int | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "bytes from device to host")
    )

    # Memory
    host_bytes: int | None = dataclasses.field(default=None, metadata=_about(Better.LESS, "global memory in bytes"))
    weight_elements: int | None = dataclasses.field(default=None, metadata=_about(Better.LESS, "weights in arrays"))
    row_bytes_of_core: Counts | None = dataclasses.field(
        default=None,
        metadata=_about(Better.LESS, "bytes of rows that are there at the same time, by core", by_results=True),
    )
    buffer_bytes: int | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "bytes of tiles and of a row of each tensor")
    )
    logical_core_bytes: Counts | None = dataclasses.field(
        default=None, metadata=_about(Better.SHOWN, "local memory by logical core")
    )
    physical_core_bytes: Counts | None = dataclasses.field(
        default=None, metadata=_about(Better.SHOWN, "local memory by physical core")
    )
    core_bytes_max: int | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "local memory of the fullest core")
    )
    core_bytes: int | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "local memory of all cores together")
    )
    plan_faults: int | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "faults of addresses and of what is said of them")
    )
    zeroed_bytes: int | None = dataclasses.field(
        default=None, metadata=_about(Better.LESS, "bytes of zeros beside rows and in place of rows")
    )

    # Yardsticks (`yardsticks.py`): what short and dumb methods reach, to hold decisions against
    cores: int | None = dataclasses.field(default=None, metadata=_about(Better.SHOWN, "cores of the machine"))
    dealt_span_cycles: int | None = dataclasses.field(
        default=None, metadata=_about(Better.SHOWN, "critical path with cores dealt to the busiest layers")
    )
    cut_span_cycles: int | None = dataclasses.field(
        default=None, metadata=_about(Better.SHOWN, "critical path with layers cut and replicated in a dumb way")
    )
    layer_slots_of_node: Counts | None = dataclasses.field(
        default=None,
        metadata=_about(Better.SHOWN, "replicas of batches without weights, as many as the layer of the node has"),
    )
    dumb_cycles: int | None = dataclasses.field(
        default=None, metadata=_about(Better.SHOWN, "the same of the best dumb schedule")
    )
    dumb_span_cycles: int | None = dataclasses.field(
        default=None, metadata=_about(Better.SHOWN, "critical path of a dumb order on the same cores, no transfers")
    )
    dumb_order_cycles: int | None = dataclasses.field(
        default=None, metadata=_about(Better.SHOWN, "the same with transfers, where the order is longer than that")
    )
    dumb_busy_cycles: int | None = dataclasses.field(
        default=None,
        metadata=_about(Better.SHOWN, "cycles of the busiest core with cores in turn, replicas all full"),
    )
    dumb_product_slots: int | None = dataclasses.field(
        default=None, metadata=_about(Better.SHOWN, "cores of replicas of layers, with cores in turn")
    )
    input_load_cycles: int | None = dataclasses.field(
        default=None, metadata=_about(Better.SHOWN, "cycles in which the inputs come through their port once")
    )
    random_byte_hops: int | None = dataclasses.field(
        default=None, metadata=_about(Better.SHOWN, "bytes x hops with cores placed at random")
    )
    overwritten: int | None = dataclasses.field(
        default=None, metadata=_about(Better.SHOWN, "values to be copied since they are overwritten in place")
    )
    overwritten_bytes: int | None = dataclasses.field(
        default=None, metadata=_about(Better.SHOWN, "bytes of these values")
    )
    live_bytes_max: int | None = dataclasses.field(
        default=None, metadata=_about(Better.SHOWN, "bytes that live at the same time on the fullest core")
    )
    live_bytes: int | None = dataclasses.field(
        default=None, metadata=_about(Better.SHOWN, "bytes that live at the same time on a core, of all cores together")
    )
    needed_zero_bytes: int | None = dataclasses.field(
        default=None,
        metadata=_about(Better.SHOWN, "bytes of zeros beside rows that are held at once, and in place of rows"),
    )

    lower_bounds: tuple[str, ...] = dataclasses.field(
        default=(), metadata={"better": Better.SHOWN, "title": "lower bounds"}
    )
    """Fields whose true value may be larger, since the level has not decided all of it yet. All others are exact."""

    def to_json(self) -> dict[str, object]:
        """The known fields as JSON values."""
        content = {name: getattr(self, name) for name in FIELDS if getattr(self, name) is not None}
        return {
            name: dict(cast("Counts", value)) if name in COUNTS else value.value if isinstance(value, Enum) else value
            for name, value in content.items()
        }

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> Proxies:
        """What :meth:`to_json` gave; for anything else a ValueError that names the field."""
        require(content, Kind.TABLE, "a record")
        if unknown := sorted(content.keys() - FIELDS.keys() - RETIRED):
            raise ValueError(f"unknown proxies {', '.join(unknown)}")
        known = {name: entry(content, name, FIELDS[name].kind) for name in content if name not in RETIRED}
        for name in COUNTS & known.keys():
            known[name] = counts(known[name])
        known["level"] = Level(entry(content, "level", Kind.TEXT))
        known["lower_bounds"] = tuple(known.get("lower_bounds", ()))
        if strange := [name for name in known["lower_bounds"] if name not in list(FIELDS)]:
            raise ValueError(f"'lower_bounds' has {strange[0]!r}, which is no proxy")
        return Proxies(**known)

    def text(self) -> str:
        """A table, one known field a line."""
        lines: list[str] = []
        for name, field in FIELDS.items():
            value = getattr(self, name)
            if value is None or name == "lower_bounds":
                continue
            bound = "  (at least)" if name in self.lower_bounds else ""
            lines.append(f"{shown(value):>24}  {field.title}{bound}")
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Survey:
    """The proxies of a program, and the nodes that its numbers come from."""

    proxies: Proxies
    contributions: Mapping[str, Mapping[str, int]] = dataclasses.field(default_factory=dict[str, Mapping[str, int]])
    """By field, then by node name: the part of it that is this node's."""


@dataclass(frozen=True)
class FieldInfo:
    """What is known of one field."""

    name: str
    title: str
    better: Better
    kind: Kind
    by_results: bool
    """Whether another schedule has it otherwise, for better or worse, so that it is judged between two builds by what
    comes of it: cycles, messages and memory."""


_KINDS = {
    "int | None": Kind.WHOLE, "Counts | None": Kind.COUNTS, "str | None": Kind.TEXT, "Level": Kind.TEXT,
    "tuple[str, ...]": Kind.LIST,
}  # fmt: skip
"""In JSON, by the type here."""

FIELDS: Mapping[str, FieldInfo] = {
    field.name: FieldInfo(
        field.name,
        field.metadata["title"],
        field.metadata["better"],
        _KINDS[str(field.type)],
        field.metadata.get("by_results", False),
    )
    for field in dataclasses.fields(Proxies)
}
"""Every field of :class:`Proxies`, in order."""

RETIRED = frozenset({"eager_makespan_cycles", "message_waits"})
"""Fields of earlier versions, whose files may have them."""

COUNTS = frozenset(name for name, field in FIELDS.items() if field.kind is Kind.COUNTS)
"""Fields with a number for each node or core."""


def tensor_text(kind: str, name: str, dtype: str, shape: Sequence[int]) -> str:
    """An input or output of the network in `interface`; ``dtype`` as numpy calls it."""
    return f"{kind} {name} {dtype} {list(shape)}"


def counts(table: Mapping[str, int] | Iterable[tuple[str, int]]) -> Counts:
    """The numbers by name, sorted."""
    return tuple(sorted((str(name), int(value)) for name, value in dict(table).items()))


def shown(value: object) -> str:
    """A value of a field, short."""
    if value is None:
        return "unknown"
    if isinstance(value, Level):
        return value.value
    if isinstance(value, str | int):
        return str(value)
    numbers = [number for _, number in cast("Counts", value)]
    return f"{len(numbers)} numbers, {min(numbers, default=0)} to {max(numbers, default=0)}"


def write_json(records: Mapping[str, Proxies]) -> str:
    """Records by name as JSON text, the same text for the same records."""
    return json.dumps({name: record.to_json() for name, record in records.items()}, indent=1) + "\n"
