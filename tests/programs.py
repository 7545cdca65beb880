"""Small programs for tests: written in assembly, made into packages, and drawn at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from hypothesis import strategies as st
from tilec.codegen.assembly import parse_assembly
from tilec.codegen.columns import COLUMN_TYPES, Columns, Program, Target
from tilec.codegen.isa import INT32_MAX, INT32_MIN, ISA, Op
from tilec.codegen.memory_image import F32, Constant, GlobalMemory, TensorLayout, WeightTable
from tilec.codegen.package import Package

TARGET = Target(array_rows=8, array_cols=4, arrays_per_core=4, local_memory_bytes=256, element_bytes=1)
GLOBAL_BYTES = 256
OUTPUT_AT = 128


def program(*cores: str, groups: Sequence[Sequence[int]] = (), target: Target = TARGET) -> Program:
    """A program from each core's assembly lines; ``setbw`` in front and a harmless ``lldi`` at the end are added."""
    settings = " ".join(f"{name}={value}" for name, value in vars(target).items())
    text = f".target cores={len(cores)} {settings}\n"
    for number, body in enumerate(cores):
        counts = list(groups[number]) if number < len(groups) else []
        text += f".core {number} groups={counts}\nsetbw ibiw=8, obiw=8\n{body}\nlldi r31, len=1, imm=0\n"
    return parse_assembly(text)


def package(
    made: Program,
    size_in: int = 16,
    size_out: int = 16,
    matrices: Mapping[tuple[int, int], F32] | None = None,
    constants: Sequence[Constant] = (),
) -> Package:
    """A package with input ``x`` at global address 0 and output ``y`` at 128, each one vector."""
    known = matrices or {}
    groups = [[known.get((core, group)) for group in range(len(of_core))] for core, of_core in enumerate(made.groups)]
    return Package(
        made,
        WeightTable.from_groups(groups),
        GlobalMemory(GLOBAL_BYTES, tuple(constants)),
        (TensorLayout.row_major("x", (size_in,), 0),),
        (TensorLayout.row_major("y", (size_out,), OUTPUT_AT),),
    )


def load(size: int, to: int = 0) -> str:
    """Loads the input's first bytes to a local address. Uses registers 28 to 30."""
    return f"sldi r28, imm=0\nsldi r29, imm=0\nsldi r30, imm={to}\nld r30, r28, size={size}"


def store(size: int, source: int) -> str:
    """Stores local bytes as the output's first ones. Uses registers 28 to 30."""
    return f"sldi r28, imm=0\nsldi r29, imm={OUTPUT_AT}\nsldi r30, imm={source}\nst r28, r30, size={size}"


def columns_strategy(ops: Sequence[Op] = tuple(Op), most: int = 40) -> st.SearchStrategy[Columns]:
    """Valid instructions in any order: they need not make sense together."""
    return st.lists(st.sampled_from(list(ops)).flatmap(_row), max_size=most).map(_stack)


def _row(op: Op) -> st.SearchStrategy[dict[str, int]]:
    operands = {field.column: st.integers(field.least, field.most) for field in ISA[op].fields}
    plain = st.fixed_dictionaries({"op": st.just(int(op)), **operands})
    choices = [bits for bits in range(1, 8) if not bits & ~ISA[op].selectable]
    if not choices:
        return plain
    offset = {"c": st.integers(INT32_MIN, INT32_MAX), "select": st.sampled_from(choices)}
    return plain | st.fixed_dictionaries({"op": st.just(int(op)), **operands, **offset})


def _stack(rows: list[dict[str, int]]) -> Columns:
    return Columns.from_arrays({name: np.array([row.get(name, 0) for row in rows], np.int64) for name in COLUMN_TYPES})


@st.composite
def programs(draw: st.DrawFn, with_nodes: bool = True) -> Program:
    """Programs of up to four cores with arbitrary valid instructions, groups and node names."""
    cores = draw(st.lists(columns_strategy(), min_size=1, max_size=4))
    groups = [draw(st.lists(st.integers(1, 4), max_size=3)) for _ in cores]
    names = draw(st.lists(st.text(max_size=8), max_size=3)) if with_nodes else []
    nodes = None
    if names:
        index = st.integers(-1, len(names) - 1)
        nodes = [np.array(draw(st.lists(index, min_size=len(core), max_size=len(core))), np.int32) for core in cores]
    return Program.from_cores(TARGET, cores, groups, nodes, names)


def same_programs(first: Program, second: Program) -> bool:
    """Whether two programs are equal in everything."""
    same_node = (first.node is None) == (second.node is None)
    if first.node is not None and second.node is not None:
        same_node = np.array_equal(first.node, second.node)
    return (
        first.columns.equals(second.columns)
        and np.array_equal(first.core_start, second.core_start)
        and (first.target, first.groups, first.node_names) == (second.target, second.groups, second.node_names)
        and same_node
    )
