"""Small programs changed at random, legally and not: the guard's verdict against a schedule by brute force."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from brute_schedule import LESS, MORE, SAME, Outcome, outcome, worse_fields
from guard_programs import becomes, harm_of, parsed
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_edits import OperationT, array_of, batches_of, change_array, insert_after, ops_of, set_array
from sabotage_texts import EACH, lowered, program, relus
from tilec.analysis.critical_path import SpanBatch, replica_span
from tilec.analysis.proxies import Proxies
from tilec.analysis.window import OUTSIDE, RowWindow
from tilec.dialects.spat import ChannelSendOp
from tilec.lowering.proxies import proxies
from xdsl.dialects.builtin import ModuleOp

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


# Schedules


def batch(name: str, source: str, heights: tuple[int, int], window: str, ops: int, rows: int = 1) -> str:
    """Lanes of ``ops`` functions of each of ``rows`` rows, one result for each; on a tensor of other height."""
    height, lanes = heights
    names = ", ".join(f"%{name}{n}" for n in range(rows))
    body = ""
    for row in range(rows):
        body += f"%v{row} = spat.view %w row {row} start 0 step 2 : tensor<{rows}x4x2xf32> -> tensor<4x2xf32>\n"
        for n in range(ops):
            before = f"%r{row}_{n - 1}" if n else f"%v{row}"
            body += f"%r{row}_{n} = spat.tanh {before} : tensor<4x2xf32>\n"
    yielded = ", ".join(f"%r{row}_{ops - 1}" for row in range(rows))
    kinds, results = (", ".join([kind] * rows) for kind in ("tensor<4x2xf32>", f"tensor<{lanes}x4x2xf32>"))
    return f"""
    {names} = spat.compute_batch lanes {lanes} ins(%{source} : tensor<{height}x4x2xf32>)
        windows [#spat.window<height {height}, lanes {lanes}, {window}>] -> {results} {{
    ^bb0(%w: tensor<{rows}x4x2xf32>):
      {body}spat.yield {yielded} : {kinds}
    }}"""


@st.composite
def scheduled_texts(draw: st.DrawFn) -> str:
    """Batches of 4 lanes on the input or on one another; at the end perhaps one of two results, and its readers."""
    count = draw(st.integers(1, 3))
    sources = ["x"]
    made: list[str] = []
    for index in range(count):
        window = f"pad_top {draw(st.integers(-1, 1))}, edge clamp"
        made.append(batch(f"b{index}_", draw(st.sampled_from(sources)), (4, 4), window, draw(st.integers(1, 3))))
        sources.append(f"b{index}_0")
    if draw(st.booleans()):
        made.append(batch("p", sources[-1], (4, 2), "rows 2, stride 2", draw(st.integers(1, 2)), 2))
        made += [batch(name, draw(st.sampled_from(["p0", "p1"])), (2, 2), "edge clamp", 1) for name in ("y", "z")]
        return program(*made, outs="y0, z0", count=2)
    return program(*made, outs=sources[-1], count=1)


def scheduled(text: str) -> ModuleOp:
    return lowered(text, "scheduled")


def one_of(ops: Sequence[OperationT], data: st.DataObject) -> OperationT:
    """An op by its number: a counterexample shows what is drawn, and an op is long."""
    return ops[data.draw(st.integers(0, len(ops) - 1))]


def same(module: ModuleOp, data: st.DataObject) -> None:
    """Nothing changes but the text."""


def later(module: ModuleOp, data: st.DataObject) -> None:
    """All steps of lanes and messages move by as much."""
    for op in batches_of(module):
        change_array(op, "steps", lambda steps: steps + 100)
    for op in ops_of(module, ChannelSendOp):
        change_array(op, "messages", lambda table: table + np.array([0, 0, 0, 100]))


def listed_anew(module: ModuleOp, data: st.DataObject) -> None:
    for op in ops_of(module, ChannelSendOp):
        order = data.draw(st.permutations(range(len(array_of(op, "messages")))))
        change_array(op, "messages", lambda table: table[np.array(order, np.int64)])  # noqa: B023


def moved_lane(module: ModuleOp, data: st.DataObject) -> None:
    """A lane runs earlier or later: before what it reads, maybe, or behind what reads it."""
    op = one_of(batches_of(module), data)
    lane, step = data.draw(st.integers(0, op.lane_count - 1)), data.draw(st.integers(0, 600))
    change_array(op, "steps", lambda steps: np.where(np.arange(len(steps)) == lane, step, steps))


def other_core(module: ModuleOp, data: st.DataObject) -> None:
    """A replica moves, and nothing else."""
    op = one_of(batches_of(module), data)
    replica, core = data.draw(st.integers(0, op.replica_count - 1)), data.draw(st.integers(0, 3))
    change_array(op, "cores", lambda cores: np.where(np.arange(len(cores)) == replica, core, cores))


def doubled_batch(module: ModuleOp, data: st.DataObject) -> None:
    """All lanes of a batch once more, for nobody."""
    op = one_of(batches_of(module), data)
    insert_after(op, op.clone())


def changed_messages(module: ModuleOp, data: st.DataObject) -> None:
    """A message is lost, doubled, early, late, to another core, or of another row."""
    sends = [op for op in ops_of(module, ChannelSendOp) if len(array_of(op, "messages"))]
    if not sends:
        return
    op = one_of(sends, data)
    table = array_of(op, "messages").copy()
    line = data.draw(st.integers(0, len(table) - 1))
    match data.draw(st.sampled_from(["lost", "doubled", "moved", "elsewhere", "of another row"])):
        case "lost":
            table = np.delete(table, line, axis=0)
        case "doubled":
            table = np.insert(table, line, table[line], axis=0)
        case "moved":
            table[line, 3] = data.draw(st.integers(0, 900))
        case "elsewhere":
            table[line, 2] = data.draw(st.sampled_from([core for core in range(4) if core != table[line, 1]]))
        case _:
            table[line, 0] = data.draw(st.integers(0, int(table[:, 0].max())))
    set_array(op, "messages", table)


EDITS = (same, later, listed_anew, moved_lane, other_core, doubled_batch, changed_messages)


def proxies_of(found: Proxies) -> dict[str, object]:
    return {name: getattr(found, name) for name in (*LESS, *MORE)}


@settings(max_examples=60, deadline=None)
@given(scheduled_texts())
def test_a_schedule_is_what_brute_force_finds(text: str) -> None:
    module = scheduled(text)
    brute = outcome(module)
    assert brute.unready_reads == 0
    assert proxies_of(proxies(module)) == {name: getattr(brute, name) for name in (*LESS, *MORE)}


@settings(max_examples=200, deadline=None)
@given(scheduled_texts(), st.sampled_from(EDITS), st.data())
def test_edits_of_schedules_are_judged_as_brute_force_does(
    text: str, edit: Callable[[ModuleOp, st.DataObject], None], data: st.DataObject
) -> None:
    """Field by field: what got worse is what the guard names, and what did not it does not."""
    module = scheduled(text)
    before = outcome(module)
    after: list[Outcome] = []

    def done(module: ModuleOp) -> None:
        edit(module, data)
        after.append(outcome(module))

    judged = {*LESS, *MORE, *SAME}
    harm = harm_of(done, module)
    if after[0].undecided:
        assert harm, "what would have to be sent counts, but when is not known"
        return
    assert harm & judged == worse_fields(before, after[0])
    if edit in (same, later, listed_anew):
        assert not harm
    if after[0].unready_reads:
        assert "unready_reads" in harm
