"""Which place on the mesh each logical core gets, so that traffic travels few hops.

Minimising the sum of traffic times hops is the quadratic assignment problem (Koopmans and Beckmann, 1957). Two starts,
the identity and a greedy construction, are improved until no swap of two places saves anything, and the better result
is taken: never worse than the identity. One core after the other swaps with the core with which it saves most. The
savings come from the product of traffic and hops, which a swap changes by an outer product, in the rows of the cores
that either of the two talks to: O(places) a look, O(partners x places) a swap. The product has rows for cores with
traffic only, so that idle cores of a large machine cost next to nothing.

Not handled: hops that depend on the direction, and contention on links.
"""

from __future__ import annotations

import numpy as np

from ..support.arrays import Ints
from ..support.kernel_columns import as_array, as_arrays
from ..support.machine_code import Kernel, can_compile
from . import placement_kernel
from .placement_kernel import Code, Facts, State

SWAPS = Kernel("places", (placement_kernel,), placement_kernel)

WORTH_COMPILING = 10_000
"""Busy cores times places from which on loading llvmlite and the machine code takes less time than it saves."""

_MORE_THAN_ANY = 1 << 60
"""More than any traffic times any hops."""


def placement_cost(traffic: Ints, hops: Ints, place: Ints) -> int:
    """Sum over pairs of logical cores of ``traffic`` [n, n] times the ``hops`` [p, p] between their ``place`` [n]."""
    return int((traffic * hops[np.ix_(place, place)]).sum())


def place_cores(traffic: Ints, hops: Ints) -> Ints:
    """[n] the place of each of n logical cores, with p >= n places.

    ``traffic`` [n, n] is what core i sends to core j (its diagonal does not matter), ``hops`` [p, p] is symmetric with
    a diagonal of zeros. Ties go to the lowest ids, and between the two starts to the identity. Raises ValueError for
    shapes that do not fit, asymmetric hops, and products that floating point does not hold exactly.
    """
    count, places = traffic.shape[0], hops.shape[0]
    _check(traffic, hops)
    both_ways = traffic + traffic.T
    np.fill_diagonal(both_ways, 0)
    # Cores without traffic take the places that are left.
    busy = np.flatnonzero(both_ways.any(axis=1))
    among = both_ways[np.ix_(busy, busy)]
    starts: list[Ints] = [np.arange(places), _construct(busy, among, hops)]
    improve = _compiled if len(busy) * places >= WORTH_COMPILING and can_compile() else _interpreted
    improved = [improve(busy, among, hops, start) for start in starts]
    return min(improved, key=lambda place: placement_cost(among, hops, place[busy]))[:count]


def validate_placement(traffic: Ints, hops: Ints, place: Ints) -> list[str]:
    """Lists what is wrong with ``place``, in words; empty when it is valid and no worse than the identity."""
    faults: list[str] = []
    taken: dict[int, int] = {}
    for core, where in enumerate(place.tolist()):
        if not 0 <= where < hops.shape[0]:
            return [f"core {core} is at place {where} of {hops.shape[0]}"]
        if where in taken:
            faults.append(f"cores {taken[where]} and {core} are both at place {where}")
        taken[where] = core
    if len(place) != len(traffic):
        return [*faults, f"{len(place)} of {len(traffic)} cores have a place"]
    cost = identity = 0
    for i in range(len(traffic)):
        for j in range(len(traffic)):
            cost += int(traffic[i, j]) * int(hops[place[i], place[j]])
            identity += int(traffic[i, j]) * int(hops[i, j])
    if cost > identity:
        faults.append(f"traffic times hops is {cost}, that of the identity {identity}")
    return faults


def _check(traffic: Ints, hops: Ints) -> None:
    count, places = traffic.shape[0], hops.shape[0]
    if traffic.shape != (count, count) or hops.shape != (places, places) or count > places:
        raise ValueError(f"traffic {list(traffic.shape)} and hops {list(hops.shape)} do not fit")
    if (hops != hops.T).any() or np.diagonal(hops).any() or hops.min(initial=0) < 0 or traffic.min(initial=0) < 0:
        raise ValueError("hops must be symmetric and zero from a place to itself; nothing may be negative")
    if float(traffic.sum(dtype=np.float64)) * float(hops.max(initial=0)) >= float(1 << 52):
        raise ValueError("traffic times hops is not exact in 53 bits")


def _construct(busy: Ints, traffic: Ints, hops: Ints) -> Ints:
    """[p] places, greedily: next the core of most traffic with those placed, on the place where it costs least.

    Ties go to the core of most traffic, and to the place nearest to all others. ``traffic`` is that of the ``busy``
    cores; the others come last, and go to the places nearest to all others.
    """
    count, places = len(busy), len(hops)
    # Numbered so that of several best ones, the first is to be taken.
    cores, open_places = np.argsort(-traffic.sum(axis=1), kind="stable"), np.argsort(hops.sum(axis=1), kind="stable")
    traffic, hops = traffic[np.ix_(cores, cores)], hops[np.ix_(open_places, open_places)]
    place = np.zeros(places, dtype=np.int64)
    cost_at = np.zeros((count, places), dtype=np.int64)  # [busy core, place] with those placed so far
    bond = np.zeros(count, dtype=np.int64)  # traffic of each core with those placed so far
    placed, taken = np.zeros(count, dtype=np.int64), np.zeros(places, dtype=np.int64)  # what makes them the last choice
    for _ in range(count):
        core = int((bond - placed).argmax())
        where = int((cost_at[core] + taken).argmin())
        place[busy[cores[core]]] = open_places[where]
        placed[core] = taken[where] = _MORE_THAN_ANY
        partners = np.flatnonzero(traffic[core])
        cost_at[partners] += np.multiply.outer(traffic[core, partners], hops[where])
        bond += traffic[core]
    place[np.setdiff1d(np.arange(places), busy)] = open_places[taken == 0]
    return place


def _compiled(busy: Ints, traffic: Ints, hops: Ints, place: Ints) -> Ints:
    """The same as :func:`_interpreted`, as machine code."""
    places = len(place)
    number = np.full(places, -1, dtype=np.int64)
    number[busy] = np.arange(len(busy))
    product = _product(traffic, hops, place[busy])
    place = as_array(place).copy()
    code, state = Code(*as_arrays((traffic, hops, number))), State(*as_arrays((place, product)))
    SWAPS.run(Facts(len(busy), places), code, state, places if len(busy) else 0)
    return place


def _product(traffic: Ints, hops: Ints, at: Ints) -> Ints:
    """[busy core, place] what a core's traffic costs there, with the others ``at`` their places. Exact below 2**53, and
    far faster than integers."""
    return (traffic.astype(np.float64) @ hops[at]).astype(np.int64)


def _interpreted(busy: Ints, traffic: Ints, hops: Ints, place: Ints) -> Ints:
    """Swaps places, core after core, until a whole round finds no swap that saves; all [p].

    ``traffic`` is that of the ``busy`` cores; an idle core takes part with what the busy ones save by its place.
    """
    place = place.copy()
    count, places = len(busy), len(place)
    number = np.full(places, -1, dtype=np.int64)
    number[busy] = np.arange(count)
    cores, twice = np.arange(count), 2 * traffic
    at = place[busy]
    product = _product(traffic, hops, at)
    now = product[cores, at]
    core, unchanged = 0, 0
    while count and unchanged < places:
        mine, here = int(number[core]), int(place[core])
        savings = now - product[:, here]
        if mine < 0:
            best = int(savings.argmax())
            saving, other = int(savings[best]), int(busy[best])
        else:
            all_savings = now[mine] - product[mine][place]
            all_savings[busy] += savings - twice[mine] * hops[here][at]
            other = int(all_savings.argmax())
            saving = int(all_savings[other])
        if saving > 0:
            change = np.zeros(count, dtype=np.int64)
            for moved, sign in ((mine, 1), (int(number[other]), -1)):
                if moved >= 0:
                    change += sign * traffic[moved]
            partners = change.nonzero()[0]
            product[partners] += np.multiply.outer(change[partners], hops[place[other]] - hops[here])
            place[core], place[other] = place[other], here
            at = place[busy]
            now = product[cores, at]
            unchanged = 0
        else:
            unchanged += 1
        core = (core + 1) % places
    return place
