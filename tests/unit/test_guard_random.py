"""Small programs changed at random, legally and not: the guard's verdict against a schedule by brute force."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from guard_programs import parsed
from hypothesis import given, settings
from hypothesis import strategies as st
from sabotage_texts import EACH, program, relus
from test_guard_sabotage import becomes, harm_of
from tilec.analysis.critical_path import SpanBatch, replica_span
from tilec.analysis.window import OUTSIDE, RowWindow

# Graphs


@st.composite
def graphs(draw: st.DrawFn) -> list[SpanBatch]:
    """A few batches of a few lanes that read batches before them."""
    made: list[SpanBatch] = []
    for index in range(draw(st.integers(1, 4))):
        lanes = draw(st.integers(1, 5))
        reads: list[tuple[int, RowWindow]] = []
        for producer in draw(st.sets(st.integers(0, index - 1), max_size=2)) if index else ():
            height = made[producer].lanes
            rows = draw(st.integers(1, 3))
            reads.append((producer, RowWindow(height, lanes, rows, pad_top=draw(st.integers(-1, 2)))))
        made.append(SpanBatch(lanes, draw(st.integers(1, lanes)), draw(st.integers(1, 9)), tuple(reads)))
    return made


def brute_force(batches: Iterable[SpanBatch]) -> int:
    """The last end of any lane, lane by lane and slot by slot."""
    ends: list[list[int]] = []
    for batch in batches:
        mine: list[int] = []
        for lane in range(batch.lanes):
            start = mine[lane - batch.slots] if lane >= batch.slots else 0
            for producer, window in batch.reads:
                for row in window.rows_of(np.array([lane]))[0].tolist():
                    if row != OUTSIDE:
                        start = max(start, ends[producer][row])
            mine.append(start + batch.cycles)
        ends.append(mine)
    return max(end for mine in ends for end in mine)


@given(graphs())
def test_span_is_what_brute_force_finds(batches: list[SpanBatch]) -> None:
    assert replica_span(batches) == brute_force(batches)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 3), st.booleans()), min_size=1, max_size=4), st.data())
def test_random_edits_are_judged_as_brute_force_does(chain: list[tuple[int, bool]], data: st.DataObject) -> None:
    """Batches of 4 lanes, each on the input or on the batch before it; one of them is edited."""
    at = data.draw(st.integers(0, len(chain) - 1))
    edited = list(chain)
    edited[at] = (data.draw(st.integers(1, 3)), data.draw(st.booleans()))

    def text(batches: list[tuple[int, bool]]) -> str:
        made = [
            relus("y" if n == len(batches) - 1 else f"b{n}", f"b{n - 1}" if chained and n else "x", 4, EACH, 1, ops)
            for n, (ops, chained) in enumerate(batches)
        ]
        return program(*made, outs="y", count=1)

    def path(batches: list[tuple[int, bool]]) -> int:
        each = RowWindow(4, 4)
        return brute_force(
            SpanBatch(4, 4, ops, ((n - 1, each),) if chained and n else ()) for n, (ops, chained) in enumerate(batches)
        )

    harm = harm_of(becomes(parsed(text(edited))), parsed(text(chain)))
    assert ("span_cycles" in harm) == (path(edited) > path(chain))
    assert ("vector_count" in harm) == (sum(ops for ops, _ in edited) > sum(ops for ops, _ in chain))
