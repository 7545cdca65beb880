"""What sabotages do to a real program, at one level or another, and their innocent twins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import sabotage_plans as plans
from ir_edits import BATCHES, MESSAGES, array_of, batches_of, body_ops, layers_of, ops_of, set_array, set_number
from tilec.dialects import onnx, pim, spat
from tilec.dialects.tile import ArrayAttr
from xdsl.dialects.builtin import ArrayAttr as BuiltinArrayAttr
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ModuleOp, StringAttr, f64, i32, i64
from xdsl.rewriter import Rewriter


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


def sums_on_fewer_cores(module: ModuleOp) -> None:
    """The replicas of batches without weights become one: those with weights keep theirs."""
    for op in ops_of(module, spat.ComputeBatchOp):
        if not op.has_products:
            op.properties["replicas"] = IntegerAttr(1, i64)


def sums_on_more_cores(module: ModuleOp) -> None:
    """Each lane of batches without weights gets a replica: more messages, constants in more places."""
    for op in ops_of(module, spat.ComputeBatchOp):
        if not op.has_products:
            op.properties["replicas"] = IntegerAttr(op.lane_count, i64)


def rows_by_fewer_cores(module: ModuleOp) -> None:
    """Moves everything on cores 2 and 3 to cores 0 and 1."""
    for op in batches_of(module):
        set_array(op, "cores", array_of(op, "cores") % 2)
    for op in ops_of(module, *MESSAGES):
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
    (op, *_) = [op for op in batches_of(module) if len(set(array_of(op, "cores").tolist())) > 1]
    set_array(op, "cores", np.full_like(array_of(op, "cores"), array_of(op, "cores")[0]))


def last_first(module: ModuleOp) -> None:
    """The last batch's lanes run in reverse, so that all wait for the last row: the same lanes, cores and messages."""
    op = batches_of(module)[-1]
    steps = array_of(op, "steps")
    set_array(op, "steps", int(steps.max()) + np.sort(steps - steps.min())[::-1] + 4)


def uniformly_later(module: ModuleOp) -> None:
    """All steps, of lanes and of messages, move by as much: the order is what it was."""
    for op in batches_of(module):
        set_array(op, "steps", array_of(op, "steps") + 1000)
        for planned in ("sends", "fetches"):
            if planned in op.properties:
                set_array(op, planned, array_of(op, planned) + np.array([0, 0, 1000]))
    for op in ops_of(module, *MESSAGES):
        set_array(op, "messages", array_of(op, "messages") + np.array([0, 0, 0, 1000]))
    for op in ops_of(module, pim.LoadOp):
        set_array(op, "rows", array_of(op, "rows") + np.array([0, 0, 1000]))
    plans.put_off(module, 1000)


def constants_when_needed(module: ModuleOp) -> None:
    """Constants are loaded by the first lanes that need them, which wait for that, and not ahead."""
    fetching = [op for op in batches_of(module) if op.properties.pop("fetches", None) is not None]
    assert fetching


def messages_in_one_chain(module: ModuleOp) -> None:
    """A global serial order: a token goes from each message's receiver to the next one's sender."""
    for op in ops_of(module, *MESSAGES):
        table = array_of(op, "messages")
        tokens = table[:-1].copy()
        tokens[:, 1], tokens[:, 2] = table[:-1, 2], table[1:, 1]
        tokens = tokens[tokens[:, 1] != tokens[:, 2]]
        joined = np.concatenate((table, tokens))
        set_array(op, "messages", joined[np.argsort(joined[:, 3], kind="stable")])


def send_in_two(module: ModuleOp) -> None:
    """Every message travels as two."""
    for op in ops_of(module, *MESSAGES):
        set_array(op, "messages", np.repeat(array_of(op, "messages"), 2, axis=0))


def messages_somewhat_later(module: ModuleOp) -> None:
    """Rows wait before they are sent, yet come before anything needs them."""
    for op in ops_of(module, *MESSAGES):
        set_array(op, "messages", array_of(op, "messages") + np.array([0, 0, 0, 20]))


def planned_somewhat_later(module: ModuleOp) -> None:
    """The same before there are messages."""
    for op in batches_of(module):
        set_array(op, "sends", array_of(op, "sends") + np.array([0, 0, 20]))


def messages_in_another_text_order(module: ModuleOp) -> None:
    for op in ops_of(module, *MESSAGES):
        set_array(op, "messages", array_of(op, "messages")[::-1])


def inputs_loaded_first(module: ModuleOp) -> None:
    """All rows of inputs are loaded before anything else, and held until they are read."""
    first = min(int(array_of(op, "steps").min()) for op in batches_of(module))
    for op in ops_of(module, pim.LoadOp):
        set_array(op, "rows", np.minimum(array_of(op, "rows"), [1 << 30, 1 << 30, first]))


def load_twice(module: ModuleOp) -> None:
    for op in ops_of(module, pim.LoadOp):
        set_array(op, "rows", np.repeat(array_of(op, "rows"), 2, axis=0))


def store_more(module: ModuleOp) -> None:
    """A copy hidden in a store: an output that nobody asked for."""
    (op,) = ops_of(module, spat.OutputOp, pim.OutputOp)
    copy = op.clone()
    copy.properties["output_name"] = StringAttr("more")
    assert op.parent is not None
    op.parent.insert_op_after(copy, op)


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
    (op, *_) = [op for op in body_ops(module, spat.ReluOp, spat.VAddOp)]
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
    for op in ops_of(module, *BATCHES, onnx.ReluOp):
        uses = list(op.results[0].uses) if op.results else []
        if len(uses) > 1 and op.parent is not None:
            copy = op.clone()
            op.parent.insert_op_before(copy, op)
            uses[0].operation.operands[uses[0].index] = copy.results[0]
            return
    raise AssertionError("no result has two readers")


def clone_instead(module: ModuleOp) -> None:
    """The same shape of change, but the original goes."""
    for op in ops_of(module, *BATCHES, onnx.ReluOp):
        if op.results and op.parent is not None:
            copy = op.clone()
            op.parent.insert_op_before(copy, op)
            for old, new in zip(op.results, copy.results, strict=True):
                old.replace_all_uses_with(new)
            op.detach()
            op.erase()


def to_the_host(module: ModuleOp) -> None:
    """An operation of the network that no core does."""
    (op, *_) = ops_of(module, spat.InputOp, pim.InputOp)
    assert op.parent is not None
    op.parent.insert_op_after(onnx.ReluOp.of([op.results[0]]), op)


def more_work(module: ModuleOp) -> None:
    (op, *_) = ops_of(module, onnx.ReluOp)
    assert op.parent is not None
    copy = onnx.ReluOp.of([op.results[0]])
    op.parent.insert_op_after(copy, op)
    op.results[0].replace_uses_with_if(copy.results[0], lambda use: use.operation is not copy)


def a_replica_less(module: ModuleOp) -> None:
    """Of one layer only: lanes that ran at once now have to wait for each other's weights."""
    op = layers_of(module)[-1]
    set_number(op, "replicas", op.replica_count - 1)


def one_lane_behind_another(module: ModuleOp) -> None:
    """A lane waits until one of its batch on another core has ended, which it needs nothing of."""
    op = [op for op in batches_of(module) if len(set(array_of(op, "cores").tolist())) > 1][-1]
    cores = array_of(op, "cores")[np.arange(op.lane_count) % op.replica_count]
    steps = array_of(op, "steps").copy()
    last = int(steps.argmax())
    other = int(np.flatnonzero(cores != cores[last])[0])
    steps[other] = steps[last] + op.lane_spans[last]
    set_array(op, "steps", steps)


def there_and_back(module: ModuleOp) -> None:
    """What has been sent is sent back, right afterwards: a copy hidden in a pair."""
    for op in ops_of(module, *MESSAGES):
        table = array_of(op, "messages")
        back = table[:, [0, 2, 1, 3]]
        set_array(op, "messages", np.stack((table, back), axis=1).reshape(-1, 4))


def copied_there_and_back(module: ModuleOp) -> None:
    """What an activation makes is copied, and the copy is copied."""
    copy_a_row(module)
    copy_a_row(module)


def read_more_rows(module: ModuleOp) -> None:
    """Batches read, and make nothing of, the row three above the one that they need."""
    for op in ops_of(module, spat.ComputeBatchOp):
        inputs, weights = list(op.inputs), list(op.weights)
        rows, columns, channels = spat.shape_of(inputs[0])
        if rows < 4:
            continue
        first = op.row_windows[0]
        window = replace(first, rows=1, pad_top=first.pad_top + 3, pad_left=0, pad_right=0, edge="zero")
        op.block.insert_arg(spat.tile_type(1, columns, channels), len(inputs))
        op.properties["windows"] = BuiltinArrayAttr([*op.windows.data, spat.WindowAttr(window)])
        op.operands = [*inputs, inputs[0], *weights]
        op.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, [len(inputs) + 1, len(weights)])


def pad_more(module: ModuleOp) -> None:
    """Windows have a column of zeros at their right that nothing reads."""
    for op in ops_of(module, spat.ComputeBatchOp, spat.ScheduledComputeBatchOp):
        windows = list(op.windows.data)
        for index, argument in enumerate(op.input_arguments):
            window = windows[index]
            if isinstance(window, spat.WindowAttr) and all(
                isinstance(use.operation, spat.ViewOp) for use in argument.uses
            ):
                rows, columns, channels = spat.shape_of(argument)
                windows[index] = spat.WindowAttr(replace(window.data, pad_right=window.data.pad_right + 1))
                Rewriter.replace_value_with_new_type(argument, spat.tile_type(rows, columns + 1, channels))
        op.properties["windows"] = BuiltinArrayAttr(windows)


def claim_samples(module: ModuleOp) -> None:
    module.attributes["tile.samples"] = IntegerAttr(7, i64)


def say_one_sample(module: ModuleOp) -> None:
    """As it is anyway."""
    module.attributes["tile.samples"] = IntegerAttr(1, i64)


def give_doubles(module: ModuleOp) -> None:
    """Outputs come as another type than that of the network."""
    for op in ops_of(module, spat.OutputOp, pim.OutputOp):
        op.properties["element"] = f64


def text_in_another_order(module: ModuleOp) -> None:
    """Ops stand right before the first that reads them; when their lanes run is said by steps."""
    for block in {op.parent for op in batches_of(module)}:
        assert block is not None
        for op in reversed(list(block.ops)):
            users = [use.operation for result in op.results for use in result.uses]
            if users:
                op.detach()
                block.insert_op_before(op, min(users, key=block.get_operation_index))
