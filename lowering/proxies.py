"""The proxies of a module, at whatever level it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation

from ..analysis.proxies import Level, Proxies, Survey
from ..dialects import pim, spat
from ..dialects.onnx_base import OnnxOp
from .proxies_batches import batch_proxies
from .proxies_onnx import interface_of_onnx, is_computation, onnx_proxies
from .proxies_opaque import opaque_digest, opaque_names
from .target import Target, target_of


def proxies(module: ModuleOp, target: Target | None = None) -> Proxies:
    """The proxies of ``module`` on ``target``, by default the one that the module names.

    Raises a TileError if the machine cannot be loaded or a table is missing: what cannot be known is no number.
    """
    return survey(module, target).proxies


def survey(module: ModuleOp, target: Target | None = None) -> Survey:
    """The proxies of ``module`` with what they are made of."""
    groups = _Groups.of(module)
    if target is None and "tile.machine" in module.attributes:
        target = target_of(module)
    level = groups.level()
    contributions: dict[str, dict[str, int]] = {}
    numbers: dict[str, object] = {}
    if groups.batches:
        numbers, contributions = batch_proxies(groups.batches, groups.others, level, target)
        numbers["host_ops"] = sum(map(is_computation, groups.onnx))
    elif groups.onnx:
        numbers, contributions = onnx_proxies(groups.onnx)
    if groups.opaque:
        contributions["opaque_ops"] = opaque_names(groups.opaque)
    record = Proxies(
        level=level,
        machine=_machine(target),
        interface=_interface(groups),
        opaque_ops=len(groups.opaque),
        opaque_digest=opaque_digest(groups.opaque),
        ir_ops=groups.op_count,
        ir_values=groups.value_count,
        **numbers,  # pyright: ignore[reportArgumentType]
    )
    return Survey(record, contributions)


@dataclass
class _Groups:
    """The ops of a module by what the guard makes of them, in their order."""

    op_count: int = 0
    value_count: int = 0
    onnx: list[OnnxOp] = field(default_factory=list[OnnxOp])
    batches: list[spat.BatchOp | pim.CoreBatchOp] = field(default_factory=list["spat.BatchOp | pim.CoreBatchOp"])
    others: list[Operation] = field(default_factory=list[Operation])
    """Ops of `spat` and `pim` beside the batches."""
    opaque: list[Operation] = field(default_factory=list[Operation])
    structure: list[Operation] = field(default_factory=list[Operation])

    @staticmethod
    def of(module: ModuleOp) -> _Groups:
        groups = _Groups()
        for op in _outside_bodies(module):
            groups.op_count += 1
            groups.value_count += len(op.results) + sum(len(b.args) for r in op.regions for b in r.blocks)
            match op:
                case OnnxOp():
                    groups.onnx.append(op)
                case spat.BatchOp() | pim.CoreBatchOp():
                    groups.batches.append(op)
                    for inner in op.block.ops:
                        groups.op_count += 1
                        groups.value_count += len(inner.results)
                case ModuleOp() | FuncOp() | ReturnOp():
                    groups.structure.append(op)
                case _ if op.name.partition(".")[0] in ("spat", "pim"):
                    groups.others.append(op)
                case _:
                    groups.opaque.append(op)
        return groups

    def level(self) -> Level:
        """The lowest level that something is at."""
        if any(isinstance(op, pim.CoreBatchOp) and op.outs for op in self.batches):
            return Level.BUFFERS
        if any(isinstance(op, pim.CoreBatchOp | pim.ProgramOp) for op in (*self.batches, *self.others)):
            return Level.TENSORS
        if any(isinstance(b, spat.BatchOp) and _is_scheduled(b) for b in self.batches):
            return Level.SCHEDULED
        if self.batches or self.others:
            return Level.GRAPH
        if self.onnx:
            return Level.ONNX
        return Level.OPAQUE if self.opaque else Level.EMPTY


def _outside_bodies(op: Operation) -> Iterator[Operation]:
    """The op and all inside it, without the bodies of batches."""
    yield op
    if isinstance(op, spat.BatchOp | pim.CoreBatchOp):
        return
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                yield from _outside_bodies(inner)


def _is_scheduled(batch: spat.BatchOp) -> bool:
    return isinstance(batch, spat.ScheduledComputeBatchOp) or (
        isinstance(batch, spat.ComputeBatchOp) and batch.is_scheduled
    )


def _machine(target: Target | None) -> str | None:
    if target is None:
        return None
    precision = target.precision
    bits = f"{precision.weight_bits}/{precision.input_bits}/{precision.output_bits}"
    return f"{target.machine.name} {bits} {target.machine.digest()[:16]}"


def _interface(groups: _Groups) -> str:
    """Names and shapes of the network's inputs and outputs that still stand for something."""
    found: list[str] = []
    for op in groups.others:
        match op:
            case spat.InputOp() | pim.InputOp():
                found.append(f"input {op.input_name.data} {op.shape.array.tolist()}")
            case spat.OutputOp() | pim.OutputOp():
                found.append(f"output {op.output_name.data} {op.shape.array.tolist()}")
            case _:
                pass
    if not found:
        for op in groups.structure:
            if isinstance(op, FuncOp):
                found += interface_of_onnx(op)
    return "; ".join(sorted(found))
