"""Which place on the mesh each logical core gets, so that traffic travels few hops.

Minimising the sum of traffic times hops is the quadratic assignment problem (Koopmans and Beckmann, 1957). Two starts,
the identity and a greedy construction, are improved until no swap of two places saves anything, and the better result
is taken: never worse than the identity. One core after the other swaps with the core with which it saves most. The
savings come from the product of traffic and hops, which a swap changes by an outer product, in the rows of the cores
that either of the two talks to: O(places) a look, O(partners x places) a swap.

Not handled: hops that depend on the direction, and contention on links.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


def mesh_hops(height: int, width: int) -> Ints:
    """[p, p] hops between the places of a mesh under XY routing; place 0 is a corner, places run along the width."""
    places = np.arange(height * width)
    y, x = places // width, places % width
    return np.abs(y[:, None] - y) + np.abs(x[:, None] - x)


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
    both_ways = np.zeros((places, places), dtype=np.int64)  # cores without traffic take the places that are left
    both_ways[:count, :count] = traffic + traffic.T
    np.fill_diagonal(both_ways, 0)
    starts: list[Ints] = [np.arange(places), _construct(both_ways, hops)]
    improved = [_improve(both_ways, hops, start) for start in starts]
    return min(improved, key=lambda place: placement_cost(both_ways, hops, place))[:count]


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


def swap_savings(core: int, product: Ints, traffic: Ints, hops: Ints) -> Ints:
    """[p] by how much the cost falls when ``core`` changes places with each other core.

    ``traffic`` and ``hops`` are symmetric, with zero diagonals, and indexed by core; ``product`` is ``traffic @ hops``.
    """
    now = np.diagonal(product) + product[core, core]
    return now - product[core] - product[:, core] - 2 * traffic[core] * hops[core]


def _check(traffic: Ints, hops: Ints) -> None:
    count, places = traffic.shape[0], hops.shape[0]
    if traffic.shape != (count, count) or hops.shape != (places, places) or count > places:
        raise ValueError(f"traffic {list(traffic.shape)} and hops {list(hops.shape)} do not fit")
    if (hops != hops.T).any() or np.diagonal(hops).any() or hops.min(initial=0) < 0 or traffic.min(initial=0) < 0:
        raise ValueError("hops must be symmetric and zero from a place to itself; nothing may be negative")
    if float(traffic.sum(dtype=np.float64)) * float(hops.max(initial=0)) >= float(1 << 52):
        raise ValueError("traffic times hops is not exact in 53 bits")


def _construct(traffic: Ints, hops: Ints) -> Ints:
    """[p] places, greedily: next the core of most traffic with those placed, on the place where it costs least.

    Ties go to the core of most traffic, and to the place nearest to all others.
    """
    places = len(hops)
    place = np.zeros(places, dtype=np.int64)
    cost_at = np.zeros((places, places), dtype=np.int64)  # [core, place] with those placed so far
    bond = np.zeros(places, dtype=np.int64)  # traffic of each core with those placed so far
    total, remoteness = traffic.sum(axis=1), hops.sum(axis=1)
    waiting, free = np.ones(places, dtype=np.bool_), np.ones(places, dtype=np.bool_)
    for _ in range(places):
        cores, open_places = np.flatnonzero(waiting), np.flatnonzero(free)
        core = cores[np.lexsort((cores, -total[cores], -bond[cores]))[0]]
        where = open_places[np.lexsort((open_places, remoteness[open_places], cost_at[core, open_places]))[0]]
        place[core], waiting[core], free[where] = where, False, False
        cost_at += np.multiply.outer(traffic[core], hops[where])
        bond += traffic[core]
    return place


def _improve(traffic: Ints, hops: Ints, place: Ints) -> Ints:
    """Swaps places, core after core, until a whole round finds no swap that saves; all [p]."""
    place = place.copy()
    hops = hops[np.ix_(place, place)]
    product = (traffic.astype(np.float64) @ hops).astype(np.int64)  # exact below 2**53, and far faster than integers
    core, unchanged = 0, 0
    while unchanged < len(place):
        savings = swap_savings(core, product, traffic, hops)
        other = int(savings.argmax())
        if savings[other] > 0:
            change = traffic[core] - traffic[other]
            partners = np.flatnonzero(change)
            product[partners] += np.multiply.outer(change[partners], hops[other] - hops[core])
            pair, swapped = [core, other], [other, core]
            product[:, pair] = product[:, swapped]
            hops[pair] = hops[swapped]
            hops[:, pair] = hops[:, swapped]
            place[pair] = place[swapped]
            unchanged = 0
        else:
            unchanged += 1
        core = (core + 1) % len(place)
    return place
