"""Which batches of a core share one place for their frames, the temporary tiles of a lane.

Lanes run one at a time, so that batches that alternate on a core can share a place; but not if a lane of one runs while
a lane of the other is interrupted.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..support.arrays import Ints

Pairs = Collection[tuple[int, int]]

_NOTHING: frozenset[int] = frozenset()


class Frame(NamedTuple):
    """The frame of one batch on one core."""

    first: int
    """Key from which it may hold something."""
    last: int
    size: int
    """Bytes."""
    batch: int


def interrupting(core: Ints, first: Ints, last: Ints, batch: Ints) -> dict[int, set[tuple[int, int]]]:
    """By core, pairs of an interrupted batch and one of which a lane runs meanwhile.

    The columns are of lanes, which extend from their ``first`` step to their ``last``.
    """
    order = np.lexsort((first, core))
    order = order[_overlapping(core[order], first[order], last[order])]
    found: dict[int, set[tuple[int, int]]] = {}
    here, begun = -1, list[tuple[int, int]]()
    columns = (core[order].tolist(), first[order].tolist(), last[order].tolist(), batch[order].tolist())
    for at, begin, end, owner in zip(*columns, strict=True):
        begun = [lane for lane in begun if lane[0] >= begin] if at == here else []
        if begun:
            found.setdefault(at, set()).update((outer, owner) for _, outer in begun)
        here = at
        begun.append((end, owner))
    return found


def _overlapping(core: Ints, first: Ints, last: Ints) -> NDArray[np.bool_]:
    """Which lanes share a moment with another one of their core: lanes are sorted by core, then first step."""
    behind = int(last.max(initial=0)) + 1
    ended = np.maximum.accumulate(core * behind + last)
    late = np.zeros(len(core) + 1, np.bool_)
    late[1:-1] = core[1:] * behind + first[1:] <= ended[:-1]
    return late[:-1] | late[1:]


def share_places(frames: Sequence[Frame], interrupted: Pairs) -> list[list[Frame]]:
    """The frames of one core in groups that share a place: no two of a group hold something at the same time.

    The largest frames choose first, each the first place where it interrupts nothing and is not interrupted. In time, a
    place is divided where it holds nothing at all.
    """
    apart = _apart(interrupted)
    places: list[list[Frame]] = []
    owners: list[set[int]] = []
    for frame in sorted(frames, key=lambda frame: (-frame.size, frame.first, frame.batch)):
        others = apart.get(frame.batch, _NOTHING)
        number = next((number for number, owner in enumerate(owners) if others.isdisjoint(owner)), len(places))
        if number == len(places):
            places.append([])
            owners.append(set())
        places[number].append(frame)
        owners[number].add(frame.batch)
    return [group for place in places for group in _without_gaps(sorted(place))]


def shared_bytes(sizes: Sequence[int], largest: int, interrupted: Pairs) -> int:
    """Bytes of the places that the frames of one core share, if all hold something all the time.

    A batch takes ``sizes`` [batches], and none on the core more than ``largest``. Only what interrupts or is
    interrupted can need another place than the first.
    """
    apart = _apart(interrupted)
    found = largest
    owners: list[set[int]] = [set()]
    for batch in sorted(apart, key=lambda batch: (-sizes[batch], batch)):
        owner = next((owner for owner in owners if apart[batch].isdisjoint(owner)), None)
        if owner is None:
            found += sizes[batch]
            owners.append({batch})
        else:
            owner.add(batch)
    return found


def _apart(interrupted: Pairs) -> dict[int, set[int]]:
    """By batch, those that interrupt it or that it interrupts."""
    apart: dict[int, set[int]] = {}
    for outer, inner in interrupted:
        apart.setdefault(outer, set()).add(inner)
        apart.setdefault(inner, set()).add(outer)
    return apart


def _without_gaps(frames: Sequence[Frame]) -> list[list[Frame]]:
    """Frames in order of their first key, in groups that no moment without any of them divides."""
    groups: list[list[Frame]] = []
    last = frames[0].first - 1
    for frame in frames:
        if groups and frame.first <= last:
            groups[-1].append(frame)
        else:
            groups.append([frame])
        last = max(last, frame.last)
    return groups
