"""From a planned module to a package."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ..dialects import pim
from ..dialects.location import place_of
from ..lowering.samples import SAMPLES, samples_of
from ..lowering.target import Target as CompileTarget
from ..lowering.target import target_of
from ..support.diagnostics import TileError
from .columns import Columns, Program, Target
from .emission import Emission
from .expansion import expand_program
from .global_layout import GlobalLayout
from .isa import Op
from .manifest import Origin
from .memory_image import F32, TensorLayout, WeightTable
from .network_nodes import NetworkNode
from .package import Package, PackageWriter
from .register_allocation import allocate_registers
from .report import build_reports


def build_package(
    module: ModuleOp,
    model: Origin,
    options: Mapping[str, object],
    emission: Callable[[], Emission] | None = None,
    writer: PackageWriter | None = None,
    nodes: Sequence[NetworkNode] = (),
) -> Package:
    """Generates the code of the module's `pim.program`. Raises TileError if it is not ready for that.

    ``emission`` gives :func:`.emission.emission_of` this module, which the report needs and others may need too; the
    code does not depend on it. The ``writer`` of the package begins with what is ready. ``nodes`` are those of the
    network that the module was lowered from.
    """
    target = target_of(module)
    program = _program(module)
    layout = GlobalLayout.of(program, target.element_bytes)
    groups, weights = _array_groups(program, target)
    memory, inputs = layout.memory(), tuple(layout.input_layouts(program))
    outputs = tuple(layout.output_layouts(program))
    _require_names(inputs, outputs)
    samples = _samples(module, (*inputs, *outputs))
    if writer is not None:
        writer.begin_memory(weights, memory, (*inputs, *outputs))
    code = _generate(program, target, layout, groups)
    if writer is not None:
        writer.begin_program(code)
    return Package(
        code,
        weights,
        memory,
        inputs,
        outputs,
        Origin(target.machine.name, target.machine.digest()),
        model,
        options,
        build_reports(module, code, emission, nodes),
        samples,
    )


def _require_names(inputs: Sequence[TensorLayout], outputs: Sequence[TensorLayout]) -> None:
    """Of what a user gives and gets, each has a name of its own; and there is something to get."""
    if not outputs:
        raise TileError("module", "it has no pim.output", "give what the network computes an output")
    for kind, layouts in (("input", inputs), ("output", outputs)):
        names = Counter(one.name for one in layouts)
        if twice := [name for name, number in names.items() if number > 1]:
            raise TileError("module", f"two {kind}s are called '{twice[0]}'", "give each a name of its own")


def _samples(module: ModuleOp, tensors: Sequence[TensorLayout]) -> int:
    """How many samples each of the tensors holds."""
    samples = samples_of(module)
    for one in tensors:
        if samples > 1 and one.shape[:1] != (samples,):
            what = f"attribute {SAMPLES} is {samples}, but '{one.name}' is of shape {list(one.shape)}"
            raise TileError("module", what, "remove the attribute, or give each input and output so many samples")
    return samples


def _program(module: ModuleOp) -> pim.ProgramOp:
    for op in module.body.block.ops:
        if isinstance(op, pim.ProgramOp):
            return op
    raise TileError("module", "it holds no pim.program", "run the whole pipeline, up to pim-plan-memory")


def _generate(
    program: pim.ProgramOp, target: CompileTarget, layout: GlobalLayout, groups: tuple[tuple[int, ...], ...]
) -> Program:
    table, nodes = expand_program(program, target, layout)
    precision = target.precision
    widths = Columns.of(Op.SETBW, a=precision.input_bits, b=precision.output_bits)
    in_order = target.machine.rob_size == 1
    table.put_in_order()
    code = allocate_registers(table, widths, element_bytes=precision.input_bytes, in_order=in_order)
    core_start = np.searchsorted(code.core, np.arange(len(groups) + 1)).astype(np.int64)
    facts = Target.of(target.machine, precision)
    return Program(facts, code.columns, core_start, groups, code.node, nodes)


def _array_groups(program: pim.ProgramOp, target: CompileTarget) -> tuple[tuple[tuple[int, ...], ...], WeightTable]:
    """Of every core, the arrays of each group and the weights in them."""
    arrays: list[dict[int, int]] = [{} for _ in range(target.machine.core_count)]
    weights: list[dict[int, F32]] = [{} for _ in range(target.machine.core_count)]
    for batch in program.body.block.ops:
        if not isinstance(batch, pim.CoreBatchOp):
            continue
        matrices = dict(zip(batch.matrix_arguments, batch.matrices, strict=True))
        for issue in batch.block.ops:
            if not isinstance(issue, pim.IssueOp) or issue.matrix is None:
                continue
            source = matrices[issue.matrix].owner
            assert isinstance(source, pim.MatrixOp)
            if issue.groups is None:
                raise TileError(place_of(issue), "its array group has no number", "run convert-spat-to-pim")
            first = 0 if issue.matrix_row is None else issue.matrix_row.value.data
            held = source.value.array[first : first + issue.size]
            count = -(-held.shape[1] // target.array_columns)
            for core, group in zip(batch.cores.array.tolist(), issue.groups.array.tolist(), strict=True):
                if group in arrays[core]:
                    what = f"array group {group} of core {core} holds two matrices"
                    raise TileError(place_of(issue), what, "run convert-spat-to-pim, which numbers them")
                arrays[core][group] = count
                weights[core][group] = held
    for core, numbers in enumerate(arrays):
        if sorted(numbers) != list(range(len(numbers))):
            what = f"its array groups are {sorted(numbers)[:8]}, not numbered from 0 on"
            raise TileError(f"core {core}", what, "run convert-spat-to-pim, which numbers them")
    groups = tuple(tuple(core[group] for group in sorted(core)) for core in arrays)
    return groups, WeightTable.from_groups([[core[group] for group in sorted(core)] for core in weights])
