"""Executes a package on real data: the outputs that the compiled program computes, from the package alone.

Elements are ``float32`` whatever the bit widths of the program say; sums are accumulated in ``float32``. An input that
is too large for it is infinite. One matrix product computes several windows where the weights' zeros keep them apart,
so an infinity or NaN in an input may spread to neighbouring positions, as zero times infinity is NaN. Cores
execute their instructions in order, ``send`` and ``recv`` meet, and nothing else orders the cores: a program that
relies on time (two cores on one global address, say) has no meaning here. The same package and inputs give the same
bits.

Since streams have no branches, all addresses and the order of messages are known before anything executes. What is
left is a loop over plain lists with one numpy call an instruction; many samples can go through it together.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..codegen.columns import Program
from ..codegen.isa import Op
from ..codegen.memory_image import TensorLayout
from ..codegen.package import Package, read_package
from ..codegen.rendezvous import Rendezvous, rendezvous
from ..codegen.stream_check import StreamCheck, StreamFault
from ..support.diagnostics import TileError, TileErrors
from .execution import Progress, execute
from .resolved_core import resolve_core
from .vector_unit import Memory

Tensors = dict[str, npt.NDArray[np.generic]]
_MEMORY_BUDGET_BYTES = 1 << 29
_DEADLOCKS_SHOWN = 8


def run(package: Package | Path, inputs: Mapping[str, npt.NDArray[np.generic]]) -> Tensors:
    """The outputs of a package for the given inputs; see :meth:`FunctionalSimulator.run`."""
    loaded = package if isinstance(package, Package) else read_package(package)
    return FunctionalSimulator(loaded).run(inputs)


class FunctionalSimulator:
    """A package made ready to execute, any number of times."""

    def __init__(self, package: Package, poison: bool = False) -> None:
        """Resolves and checks the program. With ``poison``, memory that was never written reads as NaN, not as 0."""
        self.package = package
        self.poison = poison
        _check(package)
        program, size = package.program, package.memory.size_bytes
        self._cores = [resolve_core(program, package.weights, core, size) for core in range(program.core_count)]
        self._order = _message_order(program)
        self._global_elements = max(core.global_elements for core in self._cores)
        for layout in (*package.inputs, *package.outputs):
            self._global_elements = max(self._global_elements, int(self._elements(layout).max(initial=0)) + 1)
        for constant in package.memory.constants:
            end = constant.address_bytes // program.target.element_bytes + len(constant.values)
            self._global_elements = max(self._global_elements, end)

    @property
    def elements(self) -> int:
        """Elements of memory that one sample needs."""
        return self._global_elements + sum(core.local_elements for core in self._cores)

    def run(self, inputs: Mapping[str, npt.NDArray[np.generic]], progress: Progress | None = None) -> Tensors:
        """The outputs by name, each of its layout's shape and type.

        Inputs have their layout's shape, or all of them one more leading axis: a number of samples, which run together;
        then the outputs have that axis too.
        """
        samples = self._sample_count(inputs)
        if samples is None:
            return self._run(inputs, (), progress)
        chunk = max(1, _MEMORY_BUDGET_BYTES // (4 * self.elements))
        parts: list[Tensors] = []
        for start in range(0, samples, chunk):
            some = {name: array[start : start + chunk] for name, array in inputs.items()}
            parts.append(self._run(some, (min(chunk, samples - start),), progress))
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _sample_count(self, inputs: Mapping[str, npt.NDArray[np.generic]]) -> int | None:
        names = [layout.name for layout in self.package.inputs]
        for name in inputs:
            if name not in names:
                raise TileError(f"input {name}", "is no input of the package", f"its inputs are {', '.join(names)}")
        counts: set[int | None] = set()
        for layout in self.package.inputs:
            if layout.name not in inputs:
                raise TileError(f"input {layout.name}", "is not given", f"it has shape {list(layout.shape)}")
            shape = inputs[layout.name].shape
            if shape != layout.shape and shape[1:] != layout.shape:
                raise TileError(f"input {layout.name}", f"has shape {list(shape)}", f"give it {list(layout.shape)}")
            counts.add(None if shape == layout.shape else shape[0])
        if len(counts) > 1 or counts == {0}:
            raise TileError("inputs", "have different or no numbers of samples", "give every input the same number")
        return counts.pop() if counts else None

    def _run(
        self, inputs: Mapping[str, npt.NDArray[np.generic]], batch: tuple[int, ...], progress: Progress | None
    ) -> Tensors:
        with np.errstate(all="ignore"):
            shared = self._global_memory(inputs, batch)
            memories = [self._memory(core.local_elements, batch) for core in self._cores]
            execute(self.package, self._cores, self._order, memories, shared, progress)
            return {layout.name: self._read(layout, shared) for layout in self.package.outputs}

    def _memory(self, elements: int, batch: tuple[int, ...]) -> Memory:
        return np.full((elements, *batch), np.nan if self.poison else 0, np.float32)

    def _global_memory(self, inputs: Mapping[str, npt.NDArray[np.generic]], batch: tuple[int, ...]) -> Memory:
        shared = self._memory(self._global_elements, batch)
        for constant in self.package.memory.constants:
            start = constant.address_bytes // self.package.program.target.element_bytes
            shared[start : start + len(constant.values)].T[...] = constant.values
        for layout in self.package.inputs:
            values = inputs[layout.name].reshape((*batch, -1))
            shared[self._elements(layout)] = values.T
        return shared

    def _read(self, layout: TensorLayout, shared: Memory) -> npt.NDArray[np.generic]:
        values = shared[self._elements(layout)].T
        return np.ascontiguousarray(values).reshape(values.shape[:-1] + layout.shape).astype(layout.dtype, copy=False)

    def _elements(self, layout: TensorLayout) -> npt.NDArray[np.int64]:
        first = layout.address_bytes // self.package.program.target.element_bytes
        return first + layout.element_index().reshape(-1)


def _check(package: Package) -> None:
    """The rules without which executing makes no sense; addresses are checked as they are resolved."""
    check = StreamCheck(package.program, package.weights, package.memory.size_bytes)
    for rule in (check.fields, check.groups, check.partners):
        if faults := list(rule()):
            raise TileErrors(_error(package, fault) for fault in faults)


def _error(package: Package, fault: StreamFault) -> TileError:
    if fault.index < 0:
        return TileError(f"core {fault.core}", fault.reason, "compile the model again")
    row = int(package.program.core_start[fault.core]) + fault.index
    return TileError(package.program.place(row), fault.reason, "compile the model again")


def _message_order(program: Program) -> Rendezvous:
    order = rendezvous(program)
    if order.blocked:
        shown = [f"{program.place(row)} waits for {_awaited(program, row)}" for row in order.blocked[:_DEADLOCKS_SHOWN]]
        more = len(order.blocked) - len(shown)
        tail = [f"and {more} more"] if more else []
        raise TileError("program", "deadlock: " + ", ".join(shown + tail), "reorder its messages")
    return order


def _awaited(program: Program, row: int) -> str:
    columns = program.columns
    return f"event {columns.a[row]}" if columns.op[row] == Op.WAIT else f"core {columns.b[row]}"
