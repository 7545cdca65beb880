"""Whether the parts of a package fit each other: weights in arrays, tensors and constants in global memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .columns import Program
from .memory_image import GlobalMemory, TensorLayout, WeightTable


def package_faults(
    program: Program,
    weights: WeightTable,
    memory: GlobalMemory,
    inputs: Sequence[TensorLayout],
    outputs: Sequence[TensorLayout],
) -> list[str]:
    """Everything that does not fit, one sentence each."""
    return [
        *_weight_faults(program, weights),
        *_memory_faults(program, memory),
        *_tensor_faults(program, memory, inputs, outputs),
    ]


def _weight_faults(program: Program, weights: WeightTable) -> Iterator[str]:
    target = program.target
    if len(weights.of_group) != program.core_count:
        yield f"there are weights for {len(weights.of_group)} cores, but {program.core_count} cores"
        return
    for core, (counts, of_group) in enumerate(zip(program.groups, weights.of_group, strict=True)):
        if len(of_group) > len(counts):
            yield f"core {core} has weights for {len(of_group)} groups, but {len(counts)} groups"
            continue
        for group, index in enumerate(of_group):
            if index < 0:
                continue
            rows, columns = weights.matrices[index].shape
            room = counts[group] * target.array_cols
            if rows > target.array_rows or columns > room:
                yield (
                    f"core {core}, group {group}: a matrix of {rows} x {columns} is larger than its "
                    f"{counts[group]} arrays ({target.array_rows} x {room})"
                )


def _memory_faults(program: Program, memory: GlobalMemory) -> Iterator[str]:
    element_bytes = program.target.element_bytes
    for number, constant in enumerate(memory.constants):
        start, stop = constant.address_bytes, constant.address_bytes + len(constant.values) * element_bytes
        yield from _range_faults(f"constant {number}", start, stop, element_bytes, memory)


def _tensor_faults(
    program: Program, memory: GlobalMemory, inputs: Sequence[TensorLayout], outputs: Sequence[TensorLayout]
) -> Iterator[str]:
    element_bytes = program.target.element_bytes
    if not outputs:
        yield "there are no outputs"
    for kind, layouts in (("input", inputs), ("output", outputs)):
        names = [layout.name for layout in layouts]
        if len(set(names)) != len(names):
            yield f"two {kind}s have the same name"
        for layout in layouts:
            least, most = _extremes(layout)
            start = layout.address_bytes + least * element_bytes
            stop = layout.address_bytes + (most + 1) * element_bytes
            yield from _range_faults(f"{kind} {layout.name}", start, stop, element_bytes, memory)


def _extremes(layout: TensorLayout) -> tuple[int, int]:
    """The least and greatest element index of a tensor."""
    if layout.index is not None:
        return int(layout.index.min(initial=0)), int(layout.index.max(initial=0))
    ends = [(extent - 1) * stride for extent, stride in zip(layout.shape, layout.strides, strict=True)]
    return sum(min(end, 0) for end in ends), sum(max(end, 0) for end in ends)


def _range_faults(what: str, start: int, stop: int, element_bytes: int, memory: GlobalMemory) -> Iterator[str]:
    if start < 0 or stop > memory.size_bytes:
        yield f"{what} takes bytes {start} to {stop} of a global memory of {memory.size_bytes}"
    elif start % element_bytes:
        yield f"{what} begins at byte {start}, inside an element of {element_bytes} bytes"
