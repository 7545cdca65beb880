"""The proxies of a module, at whatever level it is."""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation

from ..analysis.proxies import Level, Proxies, Survey, tensor_text
from ..dialects import pim, spat
from ..dialects.block_looks import BlockLook, BlockLooks
from ..dialects.onnx_base import OnnxOp
from ..dialects.tile import ArrayAttr, dtype_of
from .batch_facts import AnyBatch
from .onnx_work import is_computation
from .op_kinds import OpTable, ops_of
from .proxies_batches import Memory, batch_proxies
from .proxies_onnx import interface_of_onnx, onnx_proxies
from .proxies_opaque import is_idle_network, opaque_digest, opaque_names
from .samples import samples_of
from .target import STAND_IN, Target, default_target, target_of


def proxies(module: ModuleOp, target: Target | None = None) -> Proxies:
    """The proxies of ``module`` on ``target``, by default the one that the module names.

    Raises a TileError if the machine cannot be loaded or a table is missing: what cannot be known is no number.
    """
    return survey(module, target).proxies


def survey(module: ModuleOp, target: Target | None = None) -> Survey:
    """The proxies of ``module`` with what they are made of."""
    return Surveyor().survey(module, target)


class Surveyor:
    """Surveys modules. Of one pipeline, those after each pass: what they have in common is computed once."""

    def __init__(self, looks: BlockLooks | None = None) -> None:
        """``looks``: those at the module as it is now, whenever it is surveyed, if others look at it, too."""
        self._own_looks = looks is None
        self._looks = BlockLooks() if looks is None else looks
        self._memory = Memory()

    def survey(self, module: ModuleOp, target: Target | None = None) -> Survey:
        """The proxies of ``module`` as it is now, with what they are made of."""
        if self._own_looks:
            self._looks.begin()
        groups = _Groups.of(module, self._looks)
        if target is None and "tile.machine" in module.attributes:
            target = target_of(module)
        named = target
        if target is None and groups.batches:
            target = _stand_in(groups)
        level = groups.level()
        if level is Level.EMPTY and is_idle_network(module):
            level = Level.ONNX
        contributions: dict[str, dict[str, int]] = {}
        numbers: dict[str, object] = {}
        if groups.batches:
            numbers, contributions = batch_proxies(groups.batches, groups.others, level, target, self._memory)
            numbers["host_ops"] = sum(map(is_computation, groups.onnx))
        elif groups.onnx or level is Level.ONNX:
            numbers, contributions = onnx_proxies(groups.onnx, ops_of(groups.structure, FuncOp), self._memory.constants)
        if groups.opaque:
            contributions["opaque_ops"] = opaque_names(groups.opaque)
        self._memory.constants.forget_others()
        record = Proxies(
            level=level,
            machine=_machine(named),
            interface=_interface(groups),
            samples=samples_of(module),
            opaque_ops=len(groups.opaque),
            opaque_digest=opaque_digest(groups.opaque, module),
            ir_ops=groups.op_count,
            ir_values=groups.value_count,
            **numbers,  # pyright: ignore[reportArgumentType]
        )
        return Survey(record, contributions)


def _stand_in(groups: _Groups) -> Target | None:
    """None if the batches have cores that it has not."""
    target = default_target(STAND_IN)
    found: list[object] = [getattr(batch, "cores", None) for batch, _ in groups.batches]
    cores = [one.array for one in found if isinstance(one, ArrayAttr) and one.dtype.kind in "iu"]
    most = max((int(one.max(initial=0)) for one in cores), default=0)
    return target if most < target.machine.core_count else None


class _Kind(IntEnum):
    """What the guard makes of an op."""

    ONNX = 1
    BATCH = 2
    STRUCTURE = 3
    OTHER = 4
    OPAQUE = 5


@lru_cache(1024)
def _kind(kind: type[Operation]) -> _Kind:
    if issubclass(kind, OnnxOp):
        return _Kind.ONNX
    if issubclass(kind, spat.BatchOp | pim.CoreBatchOp):
        return _Kind.BATCH
    if issubclass(kind, ModuleOp | FuncOp | ReturnOp):
        return _Kind.STRUCTURE
    return _Kind.OTHER if kind.name.partition(".")[0] in ("spat", "pim") else _Kind.OPAQUE


class _Groups:
    """The ops of a module by what the guard makes of them, in their order."""

    def __init__(self) -> None:
        self.op_count = 0
        self.value_count = 0
        self.onnx: list[OnnxOp] = []
        self.batches: list[tuple[AnyBatch, BlockLook]] = []
        """With looks at their blocks."""
        self.others = OpTable(())
        """Ops of `spat` and `pim` beside the batches."""
        self.opaque: list[Operation] = []
        self.structure: list[Operation] = []

    @staticmethod
    def of(module: ModuleOp, looks: BlockLooks) -> _Groups:
        groups, others = _Groups(), list[Operation]()
        lists: dict[_Kind, list[Any]] = {
            _Kind.ONNX: groups.onnx,
            _Kind.STRUCTURE: groups.structure,
            _Kind.OTHER: others,
            _Kind.OPAQUE: groups.opaque,
        }
        kinds: dict[type[Operation], _Kind] = {}
        pending: list[Operation] = [module]
        groups.op_count, groups.value_count = 1, len(module.results)
        while pending:
            op = pending.pop()
            kind = kinds.get(type(op)) or kinds.setdefault(type(op), _kind(type(op)))
            if not op.regions:
                lists[kind].append(op)
                continue
            inside: list[Operation] = []
            for region in op.regions:
                block = region.first_block
                while block is not None:
                    look = looks.at(block)
                    groups.op_count += len(look.ops)
                    groups.value_count += look.value_count
                    inside += look.ops
                    block = block.next_block
            if kind is _Kind.BATCH:
                batch = cast("AnyBatch", op)
                groups.batches.append((batch, looks.at(batch.block)))
            else:
                lists[kind].append(op)
                pending += reversed(inside)
        groups.others = OpTable(others)
        return groups

    def level(self) -> Level:
        """The lowest level that something is at."""
        batches = [batch for batch, _ in self.batches]
        core_batches = ops_of(batches, pim.CoreBatchOp)
        if any(not op.results for op in core_batches):
            return Level.BUFFERS
        if core_batches or ops_of(self.others, pim.ProgramOp):
            return Level.TENSORS
        if any(_is_scheduled(batch) for batch in ops_of(batches, spat.ComputeBatchOp, spat.ScheduledComputeBatchOp)):
            return Level.SCHEDULED
        if self.batches or self.others:
            return Level.GRAPH
        if self.onnx:
            return Level.ONNX
        return Level.OPAQUE if self.opaque else Level.EMPTY


def _is_scheduled(batch: spat.ComputeBatchOp | spat.ScheduledComputeBatchOp) -> bool:
    return isinstance(batch, spat.ScheduledComputeBatchOp) or batch.is_scheduled


def _machine(target: Target | None) -> str | None:
    if target is None:
        return None
    precision = target.precision
    bits = f"{precision.weight_bits}/{precision.input_bits}/{precision.output_bits}"
    return f"{target.machine.name} {bits} {target.machine.digest()[:16]}"


_INPUTS = (spat.InputOp, pim.InputOp)
_OUTPUTS = (spat.OutputOp, pim.OutputOp)


def _interface(groups: _Groups) -> str:
    """Names, element types and shapes of the network's inputs and outputs that still stand for something."""
    found = [
        *(_tensor("input", op.input_name.data, op) for op in ops_of(groups.others, *_INPUTS)),
        *(_tensor("output", op.output_name.data, op) for op in ops_of(groups.others, *_OUTPUTS)),
    ]
    if not found:
        for op in ops_of(groups.structure, FuncOp):
            found += interface_of_onnx(op)
    return "; ".join(sorted(found))


def _tensor(kind: str, name: str, op: spat.InputOp | spat.OutputOp | pim.InputOp | pim.OutputOp) -> str:
    dtype = np.dtype(np.float32) if op.element is None else dtype_of(op.element)
    return tensor_text(kind, name, str(op.element) if dtype is None else dtype.name, op.logical_shape)
