"""The lowering of a whole scheduled module to one `pim.program` on tensors."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from ...analysis.message_times import row_reads
from ...dialects import pim, spat
from ...dialects.location import copy_location, node_name, place_of
from ...dialects.tile import ArrayAttr
from ...support.diagnostics import TileError
from ..onnx_to_spat.convert import main_function
from ..placement_tables import read_lines
from ..target import Target, target_of
from .body import lower_body


def convert_to_pim(module: ModuleOp) -> None:
    """Replaces `@main` by a `pim.program`. Raises TileError for what is not scheduled or does not fit."""
    main = main_function(module)
    conversion = _Conversion(target_of(module))
    for op in main.body.block.ops:
        conversion.convert(op)
    conversion.check_arrays()
    program = copy_location(main, pim.ProgramOp(Region(Block(conversion.ops))))
    block = main.parent
    assert block is not None
    block.insert_op_before(program, main)
    main.detach()
    main.erase()


@dataclass
class _ArrayGroups:
    """The array groups of every core, in the order in which the program names them."""

    groups: list[int]
    """Groups so far, per core."""
    arrays: list[int]
    """Arrays so far, per core."""
    holders: list[list[str]]
    """Layers that hold arrays, per core."""

    def take(self, core: int, arrays: int, layer: str) -> int:
        self.groups[core] += 1
        self.arrays[core] += arrays
        self.holders[core].append(layer)
        return self.groups[core] - 1


@dataclass
class _Conversion:
    target: Target
    ops: list[Operation] = field(default_factory=list[Operation])
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    constants: dict[tuple[SSAValue, int], SSAValue] = field(default_factory=dict[tuple[SSAValue, int], SSAValue])
    matrices: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def __post_init__(self) -> None:
        cores = self.target.machine.core_count
        self._array_groups = _ArrayGroups([0] * cores, [0] * cores, [[] for _ in range(cores)])

    def convert(self, op: Operation) -> None:
        match op:
            case spat.InputOp():
                self._add(op, pim.InputOp(op.input_name, op.shape, op.result.type, op.element))
            case spat.OutputOp():
                values = [self.values[value] for value in op.values]
                self._add(op, pim.OutputOp(op.output_name, op.shape, op.channels, values, op.images, op.element))
            case spat.DeferredCommunicationOp():
                self._load(op)
            case spat.ChannelSendOp():
                self.values[op.channel] = self._add(op, pim.TransferOp(self.values[op.source], op.messages))
            case spat.ChannelReceiveOp():
                self.values[op.result] = self.values[op.channel]
            case spat.ScheduledComputeBatchOp():
                self._batch(op)
            case spat.ConstantOp() | ReturnOp():
                pass
            case _:
                where = place_of(op)
                raise TileError(where, f"{op.name} is not scheduled", _missing(op))

    def check_arrays(self) -> None:
        """Raises a TileError if a core holds more arrays than it has."""
        machine, used = self.target.machine, self._array_groups.arrays
        worst = max(range(len(used)), key=lambda core: used[core])
        if used[worst] > machine.arrays_per_core:
            layers = sorted(set(self._array_groups.holders[worst]))
            raise TileError(
                f"core {worst}",
                f"it holds {used[worst]} arrays (for {', '.join(layers[:4])}) and has {machine.arrays_per_core}",
                "schedule with spat-schedule-peft or use a larger machine",
            )

    def _load(self, op: spat.DeferredCommunicationOp) -> None:
        if not isinstance(op.source.owner, spat.InputOp):
            raise TileError(place_of(op), "communication is still deferred", "run spat-realize-communication first")
        reads = row_reads(read_lines(op.result))
        rows = np.stack((reads.row, reads.core, reads.first), axis=1)
        rows = rows[np.lexsort((reads.core, reads.row, reads.first))]
        self._add(op, pim.LoadOp(self.values[op.source], ArrayAttr.get(rows)))

    def _batch(self, op: spat.ScheduledComputeBatchOp) -> None:
        body = lower_body(op)
        self.target.require_cores(op, op.cores.array)
        cores = [int(core) for core in op.cores.array]
        if any(isinstance(value.owner, spat.InputOp) for value in op.inputs):
            raise TileError(place_of(op), "it reads an input that no core loads", "run spat-defer-communication first")
        layer = node_name(op).partition("+")[0] or op.name
        for issue in body.issues:
            if issue.matrix is not None:
                arrays = -(-pim.shape_of(issue.matrix)[1] // self.target.array_columns)
                groups = [self._array_groups.take(core, arrays, layer) for core in cores]
                issue.properties["groups"] = ArrayAttr.get(np.array(groups, np.int32))
        batch = pim.CoreBatchOp(
            lanes=op.lane_count,
            replicas=op.replica_count,
            cores=op.cores,
            steps=op.steps,
            spans=op.spans,
            resumes=op.resumes,
            fetches=op.fetches,
            inputs=[self.values[v] if v in self.values else self._constant(v, 1) for v in body.inputs],
            windows=body.windows,
            constants=[self._constant(value, columns) for value, columns in body.constants],
            matrices=[self._matrix(value) for value in body.matrices],
            outs=[],
            result_types=[out.type for out in op.outs],
            body=Region(body.block),
        )
        self.ops.append(copy_location(op, batch))
        for old, new in zip(op.outs, batch.results_, strict=True):
            self.values[old] = new

    def _constant(self, value: SSAValue, columns: int) -> SSAValue:
        if (value, columns) not in self.constants:
            owner = value.owner
            assert isinstance(owner, spat.ConstantOp)
            self.constants[value, columns] = self._insert(owner, pim.ConstantOp(owner.value, columns))
        return self.constants[value, columns]

    def _matrix(self, value: SSAValue) -> SSAValue:
        if value not in self.matrices:
            owner = value.owner
            assert isinstance(owner, spat.ConstantOp)
            self.matrices[value] = self._insert(owner, pim.MatrixOp(owner.value))
        return self.matrices[value]

    def _add(self, source: Operation, op: Operation) -> SSAValue:
        """Appends an op; its result, if any, stands for the source's."""
        value = self._insert(source, op)
        for old in source.results:
            self.values[old] = value
        return value

    def _insert(self, source: Operation, op: Operation) -> SSAValue:
        self.ops.append(copy_location(source, op))
        return op.results[0] if op.results else source.operands[0]


def _missing(op: Operation) -> str:
    """What has to run before an op can become instructions."""
    if op.name.startswith("onnx."):
        return "run convert-onnx-to-spat and the passes after it first"
    if isinstance(op, spat.ComputeBatchOp):
        return "run spat-schedule-peft, spat-materialize-schedule and the passes after them first"
    return "remove it, or lower it"
