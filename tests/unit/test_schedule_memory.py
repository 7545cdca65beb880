"""What the schedule thinks memory will be needed for, against the memory that is planned in the end."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
from compilation import lower, parse_module
from odd_models import MODELS, build
from one_batch import one_batch
from tilec.dialects import pim, spat
from tilec.lowering.lane_cost import BatchCosts
from tilec.lowering.lane_tasks import timed_batches
from tilec.lowering.schedule_memory import estimated_peaks, slot_bytes
from tilec.lowering.target import target_of
from tilec.lowering.transfer_costs import TransferModel
from timelines import timeline_of
from xdsl.dialects.builtin import ModuleOp

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = [
    "dilation", "asymmetric stride and pads", "many slices", "large pads", "depthwise", "max pool, ceil and pads",
    "squeeze and excite", "shuffle, residual", "concat, grouped", "softmax of a map", "normalization, beta 3/4",
    "constant map", "perceptron, four rows", "hard swish", "prelu",
]  # fmt: skip


@dataclass(frozen=True)
class Batch:
    """A batch as it is estimated before and after it has its place in memory."""

    scratch_bytes: int
    constant_bytes: int
    slot_bytes: int
    frame: int
    """Bytes of its planned temporary tiles, without the unused columns of array groups."""
    unused: int
    """Bytes of these."""
    held: int
    """Bytes of the constants that it reads."""
    slot: int
    """Bytes of a slot of the ring of its result, without unused columns."""


def elements(op: pim.AllocOp | pim.ConstantRowsOp) -> int:
    return int(np.prod(pim.shape_of(op.result)))


def compare(name: str, machine: str) -> list[Batch]:
    make, shape = MODELS[name]
    estimates: list[tuple[int, int, int]] = []

    def estimate(pass_name: str, module: ModuleOp) -> None:
        if pass_name == "spat-merge-trivial":
            costs = BatchCosts(target_of(module))
            for op in module.walk():
                if isinstance(op, spat.ComputeBatchOp):
                    of = costs.of(op)
                    estimates.append((of.scratch_bytes, of.constant_bytes, slot_bytes(op, costs.target)))

    module = lower(build(make, *shape), machine, after_pass=estimate)
    element_bytes = target_of(module).element_bytes
    planned = [op for op in module.walk() if isinstance(op, pim.CoreBatchOp)]
    found: list[Batch] = []
    for guess, op in zip(estimates, planned, strict=True):
        allocs = [inner for inner in op.block.ops if isinstance(inner, pim.AllocOp)]
        places: list[tuple[int, int]] = []
        for alloc in allocs:
            assert alloc.addresses is not None
            address = int(alloc.addresses.array[0, 1])
            places.append((address, address + (elements(alloc) + alloc.slack.value.data) * element_bytes))
        frame = max((end for _, end in places), default=0) - min((begin for begin, _ in places), default=0)
        unused = sum(alloc.slack.value.data for alloc in allocs) * element_bytes
        constants = [value.owner for value in (*op.constants, *op.inputs)]
        held = sum(elements(one) for one in constants if isinstance(one, pim.ConstantRowsOp)) * element_bytes
        rows = op.outs[0].owner
        assert isinstance(rows, pim.RowsOp)
        _, columns, channels = pim.shape_of(rows.result)
        slot = (sum(rows.pads) + columns) * channels * element_bytes
        found.append(Batch(*guess, frame, unused, held, slot))
    return found


@pytest.mark.parametrize("machine", ["tiny4", "reference144"])
@pytest.mark.parametrize("name", NAMES)
def test_estimates_of_a_batch_are_what_is_planned(name: str, machine: str) -> None:
    """Exact for constants and for rows. Tiles take no more than estimated, but for unused columns; less where they are
    overwritten, or where a chain of instructions needs one column of them at a time."""
    batches = compare(name, machine)
    for one in batches:
        assert one.constant_bytes == one.held
        assert one.slot_bytes == one.slot
        assert one.scratch_bytes + one.unused >= one.frame
        assert (one.scratch_bytes == 0) == (one.frame == 0)


def test_most_frames_are_as_large_as_estimated() -> None:
    batches = [one for name in NAMES for one in compare(name, "reference144")]
    close = [one for one in batches if one.frame <= one.scratch_bytes + one.unused <= 1.25 * one.frame + one.unused]
    assert len(close) > 0.8 * len(batches)


@pytest.mark.parametrize("name", ["digits_cnn", "mnist_lenet5", "mnist_resnet8"])
def test_estimated_peaks_are_near_the_planned_ones(name: str) -> None:
    """Of the fullest core; the rows of the network's input, of which the schedule can do nothing, are small here."""
    estimates: list[int] = []

    def estimate(pass_name: str, module: ModuleOp) -> None:
        if pass_name == "spat-schedule-peft":
            costs = BatchCosts(target_of(module))
            batches = [op for op in module.walk() if isinstance(op, spat.ComputeBatchOp)]
            cores = [op.cores.array.astype(np.int64) for op in batches if op.cores is not None]
            start = [op.steps.array.astype(np.int64) for op in batches if op.steps is not None]
            finish = [begin + op.lane_spans for begin, op in zip(start, batches, strict=True)]
            timed = timed_batches(batches, cores, costs, TransferModel(costs.target))
            timeline = timeline_of(start, finish, [op.planned_sends for op in batches])
            estimates.append(int(estimated_peaks(batches, timed, timeline, costs).max()))

    module = lower(onnx.load(EXAMPLES / f"{name}.onnx"), after_pass=estimate)
    (program,) = [op for op in module.walk() if isinstance(op, pim.ProgramOp)]
    assert program.peak_bytes is not None
    assert estimates[0] == pytest.approx(int(program.peak_bytes.array.max()), rel=0.2)


READER = """
    spat.compute_batch lanes 4 ins(%y : tensor<4x4x2xf32>)
        windows [#spat.window<height 4, lanes 4, pad_left {left}, pad_right {right}>] -> tensor<4x4x2xf32> {{
    ^bb0(%rows: tensor<1x{columns}x2xf32>):
      %row = spat.view %rows row 0 start 0 step 2 : tensor<1x{columns}x2xf32> -> tensor<4x2xf32>
      spat.yield %row : tensor<4x2xf32>
    }}
"""


@pytest.mark.parametrize(
    ("pads", "columns"), [([], 4), ([(0, 0)], 4), ([(1, 1)], 6), ([(2, 0), (0, 3)], 9), ([(2, 1), (1, 1)], 7)]
)
def test_a_slot_has_room_for_the_zeros_of_all_readers(pads: list[tuple[int, int]], columns: int) -> None:
    """Of 2 channels, 1 byte each: the widest border on the left and the widest on the right."""
    readers = [READER.format(left=left, right=right, columns=left + 4 + right) for left, right in pads]
    batch = one_batch("spat.yield %row : tensor<4x2xf32>", "".join(readers))
    module = parse_module(f'builtin.module attributes {{tile.machine = "tiny4"}} {{ {batch} }}')
    first = next(op for op in module.walk() if isinstance(op, spat.ComputeBatchOp))
    assert slot_bytes(first, target_of(module)) == columns * 2
