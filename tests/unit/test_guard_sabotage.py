"""Sabotage: every trade that is forbidden, tried at every level where it is possible. Each is rejected for the right
reason, and its innocent twin, the same shape of change without the harm, is accepted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pytest
from guard_programs import edit_pass, module_at, parsed
from hypothesis import given, settings
from hypothesis import strategies as st
from tilec.analysis.critical_path import SpanBatch, replica_span
from tilec.analysis.window import OUTSIDE, RowWindow
from tilec.dialects import onnx, pim, spat
from tilec.dialects.registry import make_context
from tilec.dialects.spat import ScheduledComputeBatchOp
from tilec.dialects.tile import ArrayAttr
from tilec.passes.guard import Guard, Mode
from tilec.passes.manager import PassManager, Verifier
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Operation

Edit = Callable[[ModuleOp], None]


def harm_of(edit: Edit, module: ModuleOp) -> set[str]:
    """The fields that the guard rejects after ``edit``; empty if it accepts."""
    guard = Guard(Mode.REPORT, lambda text: None)
    PassManager((edit_pass(edit),), (guard, Verifier())).run(make_context(), module)
    (found,) = guard.examined
    assert bool(found.fault) == bool(found.harm)
    return {change.field for change in found.harm}


# Programs as text: what is harmed, and how


def program(*batches: str, outs: str, count: int) -> str:
    """A graph on the input x, 4 rows of 4 columns and 2 channels."""
    values = ", ".join(f"%{name.strip()}" for name in outs.split(","))
    per_value = 2
    types = ", ".join([f"tensor<{16 // count // 4}x4x{per_value}xf32>" for _ in outs.split(",")])
    channels = ", ".join(f"#tile.array<i32[2] [{2 * n}, {2 * n + 1}]>" for n in range(len(outs.split(","))))
    return f"""
builtin.module attributes {{tile.machine = "tiny4"}} {{
  func.func @main() {{
    %x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
    {"".join(batches)}
    spat.output "y" shape <i64[4] [1, 2, 4, 4]> channels [{channels}] {values} : {types}
    func.return
  }}
}}"""


def relus(name: str, source: str, lanes: int, windows: str, rows: int, ops: int = 1) -> str:
    """A batch whose lanes take the relu of ``rows`` rows each, ``ops`` times."""
    names = ", ".join(f"%{name}{n}" for n in range(rows)) if rows > 1 else f"%{name}"
    body = ""
    for row in range(rows):
        body += f"%v{row} = spat.view %w row {row} start 0 step 2 : tensor<{rows}x4x2xf32> -> tensor<4x2xf32>\n"
        before = f"%v{row}"
        for n in range(ops):
            body += f"%r{row}_{n} = spat.tanh {before} : tensor<4x2xf32>\n"
            before = f"%r{row}_{n}"
    yielded = ", ".join(f"%r{row}_{ops - 1}" for row in range(rows))
    kinds = ", ".join(["tensor<4x2xf32>"] * rows)
    results = ", ".join([f"tensor<{lanes}x4x2xf32>"] * rows)
    return f"""
    {names} = spat.compute_batch lanes {lanes} ins(%{source} : tensor<4x4x2xf32>) windows [{windows}] -> {results} {{
    ^bb0(%w: tensor<{rows}x4x2xf32>):
      {body}spat.yield {yielded} : {kinds}
    }}"""


EACH = "#spat.window<height 4, lanes 4>"
FINE = program(relus("y", "x", 4, EACH, 1), outs="y", count=1)
COARSE = program(relus("y", "x", 2, "#spat.window<height 4, lanes 2, rows 2, stride 2>", 2), outs="y0, y1", count=2)
LOOP = program(relus("y", "x", 1, "#spat.window<height 4, lanes 1, rows 4>", 4), outs="y0, y1, y2, y3", count=4)
SCALAR = program(
    *(relus(f"y{n}", "x", 1, f"#spat.window<height 4, lanes 1, pad_top {-n}>", 1) for n in range(4)),
    outs="y0, y1, y2, y3",
    count=4,
)
WIDE = program(relus("a", "x", 4, EACH, 1, 3), relus("y", "x", 4, EACH, 1), outs="y", count=1)
CHAINED = program(relus("a", "x", 4, EACH, 1, 3), relus("y", "a", 4, EACH, 1), outs="y", count=1)
LATE = program(
    relus("a", "x", 4, EACH, 1), relus("y", "a", 4, "#spat.window<height 4, lanes 4, edge clamp>", 1), outs="y", count=1
)
LONG = program(relus("y", "x", 4, EACH, 1, 2), outs="y", count=1)
TWICE = program(relus("a", "x", 4, EACH, 1), relus("y", "x", 4, EACH, 1), outs="y", count=1)

TEXTS = {
    "coarser lanes": (FINE, COARSE, {"compute_instances", "width", "span_cycles"}),
    "a batch made scalar": (FINE, SCALAR, {"width"}),
    "independent lanes in one sequential loop": (FINE, LOOP, {"compute_instances", "width", "span_cycles"}),
    "a longer critical path with the same totals": (WIDE, CHAINED, {"span_cycles"}),
    "more instructions": (FINE, LONG, {"vector_count", "instructions", "work_cycles", "span_cycles"}),
    "recomputation": (FINE, TWICE, {"recomputed", "work_cycles"}),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name: str) -> None:
    good, bad, fields = TEXTS[name]
    assert fields <= harm_of(becomes(bad), parsed(good))
    assert not harm_of(becomes(good), parsed(bad)) & fields, "the way back does no harm"
    assert not harm_of(becomes(good), parsed(good))


def becomes(text: str) -> Edit:
    def edit(module: ModuleOp) -> None:
        for op in list(module.body.block.ops):
            op.detach()
            op.drop_all_references()
        other = parsed(text)
        for op in list(other.body.block.ops):
            op.detach()
            module.body.block.add_op(op)

    return edit


def test_same_totals_longer_path() -> None:
    """Nothing but the critical path tells the two apart."""
    assert harm_of(becomes(CHAINED), parsed(WIDE)) == {"span_cycles"}


# Edits of a real program


def ops_of(module: ModuleOp, kinds: type[Operation] | tuple[type[Operation], ...]) -> list[Operation]:
    return [op for op in module.walk() if isinstance(op, kinds)]


BATCHES = (spat.ComputeBatchOp, ScheduledComputeBatchOp, pim.CoreBatchOp)
TABLES = (spat.ChannelSendOp, pim.TransferOp)


def set_array(op: Operation, name: str, array: np.ndarray) -> None:
    op.properties[name] = ArrayAttr.get(np.ascontiguousarray(array))


def array_of(op: Operation, name: str) -> np.ndarray:
    attribute = op.properties[name]
    assert isinstance(attribute, ArrayAttr)
    return attribute.array


def nothing(module: ModuleOp) -> None:
    """Writes every property anew, with equal content."""
    for op in module.walk():
        for name, value in list(op.properties.items()):
            if isinstance(value, ArrayAttr) and value.array.size < 1000:
                set_array(op, name, value.array.copy())


def change_machine(module: ModuleOp) -> None:
    module.attributes["tile.machine"] = StringAttr("reference144")


def change_widths(module: ModuleOp) -> None:
    module.attributes["tile.activation_bits"] = IntegerAttr(4, i64)


def same_machine(module: ModuleOp) -> None:
    module.attributes["tile.machine"] = StringAttr("tiny4")


def fewer_replicas(module: ModuleOp) -> None:
    for op in ops_of(module, spat.ComputeBatchOp):
        op.properties["replicas"] = IntegerAttr(1, i64)


def rows_by_fewer_cores(module: ModuleOp) -> None:
    """Moves everything on cores 2 and 3 to cores 0 and 1."""
    for op in ops_of(module, BATCHES):
        set_array(op, "cores", array_of(op, "cores") % 2)
    for op in ops_of(module, TABLES):
        table = array_of(op, "messages").copy()
        table[:, 1:3] %= 2
        _, first = np.unique(table[:, [0, 2]], axis=0, return_index=True)
        table = table[np.sort(first)]
        set_array(op, "messages", table[table[:, 1] != table[:, 2]])
    for op in ops_of(module, pim.LoadOp):
        table = array_of(op, "rows").copy()
        table[:, 1] %= 2
        set_array(op, "rows", table)


def both_replicas_on_one_core(module: ModuleOp) -> None:
    """Lanes of two replicas become dependent: they wait for one core. Before messages are decided."""
    (op, *_) = [op for op in ops_of(module, BATCHES) if len(set(array_of(op, "cores").tolist())) > 1]
    set_array(op, "cores", np.full_like(array_of(op, "cores"), array_of(op, "cores")[0]))


def last_first(module: ModuleOp) -> None:
    """The last batch's lanes run in reverse, so that all wait for the last row: the same lanes, cores and messages."""
    op = ops_of(module, BATCHES)[-1]
    steps = array_of(op, "steps")
    set_array(op, "steps", int(steps.max()) + np.sort(steps - steps.min())[::-1] + 4)


def uniformly_later(module: ModuleOp) -> None:
    """All steps, of lanes and of messages, move by as much: the order is what it was."""
    for op in ops_of(module, BATCHES):
        set_array(op, "steps", array_of(op, "steps") + 1000)
    for op in ops_of(module, TABLES):
        set_array(op, "messages", array_of(op, "messages") + np.array([0, 0, 0, 1000]))
    for op in ops_of(module, pim.LoadOp):
        set_array(op, "rows", array_of(op, "rows") + np.array([0, 0, 1000]))


def messages_in_one_chain(module: ModuleOp) -> None:
    """A global serial order: a token goes from each message's receiver to the next one's sender."""
    for op in ops_of(module, TABLES):
        table = array_of(op, "messages")
        tokens = table[:-1].copy()
        tokens[:, 1], tokens[:, 2] = table[:-1, 2], table[1:, 1]
        tokens = tokens[tokens[:, 1] != tokens[:, 2]]
        joined = np.concatenate((table, tokens))
        set_array(op, "messages", joined[np.argsort(joined[:, 3], kind="stable")])


def send_in_two(module: ModuleOp) -> None:
    """Every message travels as two."""
    for op in ops_of(module, TABLES):
        set_array(op, "messages", np.repeat(array_of(op, "messages"), 2, axis=0))


def messages_in_another_text_order(module: ModuleOp) -> None:
    for op in ops_of(module, TABLES):
        set_array(op, "messages", array_of(op, "messages")[::-1])


def load_twice(module: ModuleOp) -> None:
    for op in ops_of(module, pim.LoadOp):
        set_array(op, "rows", np.repeat(array_of(op, "rows"), 2, axis=0))


def store_more(module: ModuleOp) -> None:
    """A copy hidden in a store: an output that nobody asked for."""
    (op,) = ops_of(module, (spat.OutputOp, pim.OutputOp))
    copy = op.clone()
    copy.properties["output_name"] = StringAttr("more")
    assert op.parent is not None
    op.parent.insert_op_after(copy, op)


def body_ops(module: ModuleOp, kinds: type[Operation] | tuple[type[Operation], ...]) -> list[Operation]:
    return [inner for op in ops_of(module, BATCHES) for inner in op.regions[0].block.ops if isinstance(inner, kinds)]


def again_in_place(module: ModuleOp) -> None:
    """An instruction of the vector unit issued twice."""
    (op, *_) = [op for op in body_ops(module, pim.IssueOp) if op.properties["instruction"] == StringAttr("vrelu")]
    copy = op.clone()
    assert op.parent is not None
    op.parent.insert_op_after(copy, op)
    if op.results:
        copy.operands[list(copy.operands).index(op.operands[-1])] = op.results[0]
        op.results[0].replace_uses_with_if(copy.results[0], lambda use: use.operation is not copy)


def move_there_and_back(module: ModuleOp) -> None:
    """A copy hidden in a load-store pair of local moves."""
    (op, *_) = [op for op in body_ops(module, pim.IssueOp) if op.properties["instruction"] == StringAttr("lmv")]
    for _ in range(2):
        assert op.parent is not None
        op.parent.insert_op_after(op.clone(), op)


def copy_a_row(module: ModuleOp) -> None:
    """A gather of one part is a copy."""
    (op, *_) = [op for op in body_ops(module, (spat.ReluOp, spat.VAddOp))]
    assert op.parent is not None
    copy = spat.GatherOp([op.results[0]])
    op.parent.insert_op_after(copy, op)
    op.results[0].replace_uses_with_if(copy.result, lambda use: use.operation is not copy)


def relu_again(module: ModuleOp) -> None:
    (op, *_) = body_ops(module, spat.ReluOp)
    assert op.parent is not None
    copy = spat.ReluOp(op.results[0])
    op.parent.insert_op_after(copy, op)
    op.results[0].replace_uses_with_if(copy.result, lambda use: use.operation is not copy)


def batch_for_each_reader(module: ModuleOp) -> None:
    """The relu is computed once for the convolution and once for the sum."""
    for op in ops_of(module, (*BATCHES, onnx.ReluOp)):
        uses = list(op.results[0].uses) if op.results else []
        if len(uses) > 1 and op.parent is not None:
            copy = op.clone()
            op.parent.insert_op_before(copy, op)
            uses[0].operation.operands[uses[0].index] = copy.results[0]
            return
    raise AssertionError("no result has two readers")


def clone_instead(module: ModuleOp) -> None:
    """The same shape of change, but the original goes."""
    for op in ops_of(module, (*BATCHES, onnx.ReluOp)):
        if op.results and op.parent is not None:
            copy = op.clone()
            op.parent.insert_op_before(copy, op)
            for old, new in zip(op.results, copy.results, strict=True):
                old.replace_all_uses_with(new)
            op.detach()
            op.erase()


def to_the_host(module: ModuleOp) -> None:
    """An operation of the network that no core does."""
    (op, *_) = ops_of(module, (spat.InputOp, pim.InputOp))
    assert op.parent is not None
    op.parent.insert_op_after(onnx.ReluOp.of([op.results[0]]), op)


def more_work(module: ModuleOp) -> None:
    (op, *_) = ops_of(module, onnx.ReluOp)
    assert op.parent is not None
    copy = onnx.ReluOp.of([op.results[0]])
    op.parent.insert_op_after(copy, op)
    op.results[0].replace_uses_with_if(copy.results[0], lambda use: use.operation is not copy)


@dataclass(frozen=True)
class Sabotage:
    edit: Edit
    levels: tuple[str, ...]
    fields: tuple[str, ...]
    """All of them are among the reasons."""
    twin: Edit = nothing


SPAT_AND_PIM = ("graph", "scheduled", "tensors", "buffers")
PLACED = ("scheduled", "tensors", "buffers")
SABOTAGES = (
    Sabotage(change_machine, SPAT_AND_PIM, ("machine",), same_machine),
    Sabotage(change_widths, SPAT_AND_PIM, ("machine",), same_machine),
    Sabotage(fewer_replicas, ("graph",), ("width_of_node", "span_cycles")),
    Sabotage(rows_by_fewer_cores, PLACED, ("width", "assignment"), uniformly_later),
    Sabotage(both_replicas_on_one_core, ("placed",), ("width_of_node", "assignment"), uniformly_later),
    Sabotage(last_first, PLACED, ("makespan_cycles",), uniformly_later),
    Sabotage(messages_in_one_chain, PLACED, ("sends", "send_bytes", "receives", "byte_hops")),
    Sabotage(send_in_two, PLACED, ("sends", "receives"), messages_in_another_text_order),
    Sabotage(load_twice, ("tensors", "buffers"), ("host_to_device_copies", "host_to_device_bytes")),
    Sabotage(store_more, SPAT_AND_PIM, ("interface",)),
    Sabotage(store_more, PLACED, ("device_to_host_copies", "device_to_host_bytes")),
    Sabotage(again_in_place, ("tensors", "buffers"), ("vector_count", "instructions", "work_cycles")),
    Sabotage(move_there_and_back, ("buffers",), ("local_copies", "local_copy_bytes")),
    Sabotage(copy_a_row, ("graph", "scheduled"), ("local_copies", "local_copy_bytes")),
    Sabotage(relu_again, ("graph", "scheduled"), ("vector_count", "instructions", "work_cycles")),
    Sabotage(batch_for_each_reader, ("onnx",), ("recomputed", "element_passes"), clone_instead),
    Sabotage(batch_for_each_reader, ("graph",), ("recomputed", "vector_count"), clone_instead),
    Sabotage(to_the_host, ("graph", "scheduled"), ("host_ops",)),
    Sabotage(more_work, ("onnx",), ("element_passes", "step_count")),
)
CASES = [(one, level) for one in SABOTAGES for level in one.levels]


@pytest.mark.parametrize(("sabotage", "level"), CASES, ids=[f"{one.edit.__name__}-{level}" for one, level in CASES])
def test_sabotage(sabotage: Sabotage, level: str) -> None:
    assert set(sabotage.fields) <= harm_of(sabotage.edit, module_at(level))
    assert not harm_of(sabotage.twin, module_at(level))


# Random edits of small programs against a schedule by brute force


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

    harm = harm_of(becomes(text(edited)), parsed(text(chain)))
    assert ("span_cycles" in harm) == (path(edited) > path(chain))
    assert ("vector_count" in harm) == (sum(ops for ops, _ in edited) > sum(ops for ops, _ in chain))
