"""Yardsticks: what short and dumb methods reach, to hold the decisions of passes against.

Where a pass decides something, there is nothing before it to compare with: an ONNX network has no replicas, a graph no
cores, a placement no messages. Then the guard compares with what a method of a few lines would have decided for the
same program. A pass may do better in any way it likes; it may not do worse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heapify, heapreplace

from ..support.arrays import Ints
from .contract import MappingFunction
from .proxies import Counts, Proxies, counts

ROOM = 2
"""One part in so many that a method may miss its yardstick by, since it looks at more than the yardstick does."""


HARDLY = 32
"""One part in so many that two orders may differ by, with all transfers, and still be as good."""

NEARER = 8
"""By one part in so many, cores are to be nearer to each other than at random."""


def byte_hops_at_random(sent_bytes: int, hops: Ints) -> int:
    """Bytes x hops of messages of ``sent_bytes`` in all between cores at random, ``hops`` [cores, cores] apart."""
    pairs = max(1, hops.size - len(hops))
    return sent_bytes * int(hops.sum()) // pairs


def most_byte_hops(at_random: int, cores: int) -> int:
    """What a placement may take that is called near: one part in `NEARER` less than at random, and two cores' shares,
    since of few cores all are neighbours, and those that are better for the time may happen to be farther apart."""
    return at_random - at_random // NEARER + 2 * at_random // cores


def deal_cores(
    lanes: Sequence[int], cycles: Sequence[int], cores: int, parts: Sequence[int] | None = None
) -> list[int]:
    """Replicas for layers of so many lanes of so many cycles each, when cores are dealt one by one.

    Each gets one. Then the layer that works longest gets as many more as it takes to have it work less long, as long as
    cores last, of which a replica takes as many as it has ``parts``: one, unless they are given. O(cores log layers).
    """
    size = [1] * len(lanes) if parts is None else list(parts)
    replicas = [1] * len(lanes)
    free = cores - sum(size)
    queue = [(-count * length, index) for index, (count, length) in enumerate(zip(lanes, cycles, strict=True))]
    heapify(queue)
    while queue and free > 0:
        _, index = queue[0]
        turns = -(-lanes[index] // replicas[index])
        more = -(-lanes[index] // (turns - 1)) - replicas[index] if turns > 1 else free + 1
        if more * size[index] > free:
            break
        replicas[index] += more
        free -= more * size[index]
        left = -(-lanes[index] // replicas[index])
        heapreplace(queue, (-left * cycles[index], index))
    return replicas


# Mappings


def with_room(name: str, part: int = ROOM, least: int = 0) -> MappingFunction:
    """The yardstick ``name`` of the record after, and one part in ``part`` more, or ``least``, if that is more."""

    def mapped(before: Proxies, after: Proxies) -> object:
        yardstick = getattr(after, name)
        return None if yardstick is None else yardstick + max(yardstick // part, least)

    return mapped


def least_of(*mappings: MappingFunction) -> MappingFunction:
    """The least number that one of ``mappings`` gives; None if one gives none."""

    def mapped(before: Proxies, after: Proxies) -> object:
        values = [mapping(before, after) for mapping in mappings]
        numbers = [value for value in values if isinstance(value, int)]
        return min(numbers) if len(numbers) == len(values) else None

    return mapped


def needed(name: str) -> MappingFunction:
    """The yardstick ``name`` of the record after: the program follows from it, so that there is nothing to gain."""
    return lambda before, after: getattr(after, name)


def part_of(name: str, part: int) -> MappingFunction:
    """One part in ``part`` of the field ``name`` of the record after."""

    def mapped(before: Proxies, after: Proxies) -> object:
        value = getattr(after, name)
        return None if value is None else value // part

    return mapped


def replicas_as_cores(before: Proxies, after: Proxies) -> int | None:
    """As many cores as the replicas of the layer that has most: they do not share one, while the machine has others.
    There may be fewer if the layers have got their replicas for another machine."""
    if before.width_of_node is None or after.cores is None:
        return None
    return min(after.cores, max((replicas for _, replicas in before.width_of_node), default=1))


def replicas_apart(before: Proxies, after: Proxies) -> int | None:
    """Replicas of one layer are on different cores, but for a few, if there are such with room for their arrays. Layers
    may share cores."""
    if before.product_slots is None or after.product_slots is None:
        return None
    most = before.product_slots if after.dumb_product_slots is None else after.dumb_product_slots
    return most - most // 4


def replicas_on_cores(before: Proxies, after: Proxies) -> Counts | None:
    """At least half of the replicas of each layer have cores of their own, unless all layers together have more
    replicas than there are cores. Then some share one, and what that costs is bounded by the busiest core."""
    if before.width_of_node is None or after.width_of_node is None:
        return None
    if before.product_slots is None or after.cores is None:
        return None
    if before.product_slots <= after.cores:
        return counts((name, replicas - replicas // 2) for name, replicas in before.width_of_node)
    found = dict(after.width_of_node)
    return counts((name, min(replicas, found.get(name, 0))) for name, replicas in before.width_of_node)


def dumb_schedule(name: str, part: int) -> Callable[[Proxies, Proxies], int | None]:
    """What the dumb schedule of the field ``name`` takes, and one part in ``part`` more; and the time in which the
    inputs come, since their rows may come in another order."""

    def mapped(before: Proxies, after: Proxies) -> int | None:
        dumb: int | None = getattr(after, name)
        if dumb is None or after.input_load_cycles is None:
            return None
        return dumb + dumb // part + after.input_load_cycles

    return mapped


def _spare_cycles(after: Proxies) -> int | None:
    """How much sooner all ends, with transfers, than the dumb schedule and the time in which the inputs come. What may
    delay the end by no more than that does no harm, even on top of the schedule as it is planned."""
    dumb, planned, inputs = after.dumb_cycles, after.scheduled_cycles, after.input_load_cycles
    return None if dumb is None or planned is None or inputs is None else dumb + inputs - planned


def _ends_sooner(after: Proxies) -> bool:
    """Whether all ends no later, with transfers, than in the dumb order on the same cores, but for one part in
    `HARDLY`."""
    dumb, planned = after.dumb_order_cycles, after.scheduled_cycles
    return dumb is not None and planned is not None and planned <= dumb + dumb // HARDLY


def dumb_order(part: int) -> MappingFunction:
    """What a dumb order on the same cores takes without transfers, one part in ``part`` more, and the time in which the
    inputs come; or as much more as the schedule with transfers proves harmless, since its order is that in which rows
    come; or whatever it takes, if with transfers the dumb order takes longer."""

    def mapped(before: Proxies, after: Proxies) -> int | None:
        dumb, spare = after.dumb_span_cycles, _spare_cycles(after)
        if dumb is None or spare is None or after.input_load_cycles is None:
            return None
        limit = dumb + max(dumb // part + after.input_load_cycles, spare)
        return max(limit, after.span_cycles or 0) if _ends_sooner(after) else limit

    return mapped


def busy_in_turn(before: Proxies, after: Proxies) -> int | None:
    """What the busiest of cores in turn does, and half as much more; or as much more as the schedule proves harmless.

    A core delays the end by no more than what it has more to do. It is much where cores mostly send and receive, or
    hold replicas that work at different times.
    """
    dumb, spare = after.dumb_busy_cycles, _spare_cycles(after)
    return None if dumb is None or spare is None else dumb + max(dumb // 2, spare)


def nearer_than_at_random(before: Proxies, after: Proxies) -> int | None:
    """What bytes x hops may be if cores are near to each other (:func:`most_byte_hops`)."""
    if after.random_byte_hops is None or after.cores is None:
        return None
    return most_byte_hops(after.random_byte_hops, after.cores)


def needed_copies(name: str, needed: str) -> MappingFunction:
    """The field ``name`` with the copies that save what would be overwritten."""

    def mapped(before: Proxies, after: Proxies) -> object:
        old, more = getattr(before, name), getattr(before, needed)
        return None if old is None or more is None else old + more

    return mapped


def of_fused_nodes(field: str) -> MappingFunction:
    """The field by node, where nodes that came together are one: what each may have is what its parts had.

    A node whose name is in the names of fused nodes counts with all nodes that are there, too.
    """

    def mapped(before: Proxies, after: Proxies) -> Counts | None:
        old_table, new_table = getattr(before, field), getattr(after, field)
        if old_table is None or new_table is None:
            return None
        old, new = dict(old_table), dict(new_table)
        group: dict[str, str] = {}

        def find(name: str) -> str:
            while group.setdefault(name, name) != name:
                name = group[name]
            return name

        for name in (*old, *new):
            first, *others = name.split("+")
            for other in others:
                group[find(other)] = find(first)
        had: dict[str, int] = {}
        has: dict[str, int] = {}
        for table, total in ((old, had), (new, has)):
            for name, number in table.items():
                root = find(name.partition("+")[0])
                total[root] = total.get(root, 0) + number
        fine = {root for root, number in has.items() if number <= had.get(root, 0)}
        return counts(
            (name, number if find(name.partition("+")[0]) in fine else old.get(name, 0)) for name, number in new.items()
        )

    return mapped
