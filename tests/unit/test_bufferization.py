"""Bufferization against numpy: random bodies compute the same on tensors and on buffers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tilec.analysis.machine import Machine, Precision
from tilec.analysis.window import RowWindow
from tilec.dialects import pim
from tilec.dialects.pim import Access, IssueOp, shape_of
from tilec.dialects.spat import WindowAttr
from tilec.dialects.tile import ArrayAttr
from tilec.lowering.bufferization import bufferize_body
from tilec.lowering.proxies_memory import overwritten
from tilec.lowering.target import Target
from tilec.support.diagnostics import TileError
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Block, Operation, Region, SSAValue

F32 = NDArray[np.float32]

TARGET = Target(Machine.load("tiny4"), Precision(8, 8, 8))
WIDE = TARGET.array_columns
UNARY = {"vrelu": lambda x: np.maximum(x, 0), "lmv": lambda x: x, "vtanh": np.tanh}
BINARY = {"vvadd": np.add, "vvsub": np.subtract, "vvmul": np.multiply, "vvmax": np.maximum}


def execute(op: IssueOp, turn: int, memory: dict[SSAValue, F32], matrices: dict[SSAValue, F32], width: int) -> None:
    """One instruction; a product writes ``width`` elements, or more if its matrix is wider."""

    def part(value: SSAValue, access: Access, size: int) -> F32:
        *_, columns, channels = shape_of(value)
        index = turn % access.cycle if access.cycle else turn
        row = access.row + index * access.row_step
        start = row * columns * channels + access.start + index * access.step
        assert 0 <= start <= start + size <= memory[value].size, "outside of the buffer"
        return memory[value][start : start + size]

    name, size = op.instruction.data, op.size
    given_ = [part(value, access, size).copy() for value, access in op.reads]
    if name == "mvmul":
        assert op.matrix is not None
        assert op.matrix_row is not None
        first = op.matrix_row.value.data
        product = given_[0] @ matrices[op.matrix][first : first + size]
        result = np.zeros(max(width, len(product)), np.float32)
        result[: len(product)] = product
    elif name == "lldi":
        assert op.immediate is not None
        result = np.full(size, op.immediate.value.data, np.float32)
    else:
        function = UNARY[name] if name in UNARY else BINARY[name]
        result = function(*given_)
    part(op.dest, op.dest_access.data, len(result))[:] = result


def run_tensors(op: pim.CoreBatchOp, arguments: Sequence[F32]) -> list[F32]:
    """Values never change: an instruction gives a new one."""
    values = dict(zip(op.block.args, arguments, strict=True))
    matrices = dict(values)
    for inner in op.block.ops:
        if isinstance(inner, pim.EmptyOp):
            values[inner.result] = np.full(int(np.prod(shape_of(inner.result))), np.nan, np.float32)
        elif isinstance(inner, IssueOp):
            assert inner.result is not None
            memory = {**values, inner.dest: values[inner.dest].copy()}
            for turn in range(inner.count):
                execute(inner, turn, memory, matrices, 0)
            values[inner.result] = memory[inner.dest]
        elif isinstance(inner, pim.YieldOp):
            return [values[value] for value in inner.values]
    raise AssertionError


def turns_in(op: IssueOp) -> int:
    return op.count if op.turns is None else op.turns.value.data


def run_buffers(block: Block, slack: Sequence[int], arguments: Sequence[F32], matrices: int) -> list[F32]:
    """Instructions change memory, in turns where they are chained."""
    outs = block.args[len(arguments) :]
    memory = dict(zip(block.args, [argument.copy() for argument in arguments], strict=False))
    products = {value: memory[value] for value in block.args[len(arguments) - matrices : len(arguments)]}
    for out, more in zip(outs, slack, strict=True):
        memory[out] = np.full(int(np.prod(shape_of(out))) + more, np.nan, np.float32)
    chain: list[IssueOp] = []

    def finish() -> None:
        turns = turns_in(chain[0]) if chain else 0
        for turn in range(turns):
            for op in chain:
                each = op.count // turns
                for index in range(turn * each, (turn + 1) * each):
                    execute(op, index, memory, products, WIDE)
        chain.clear()

    for op in block.ops:
        if isinstance(op, pim.AllocOp):
            size = int(np.prod(shape_of(op.result))) + op.slack.value.data
            memory[op.result] = np.full(size, np.nan, np.float32)
        elif isinstance(op, IssueOp):
            if op.chained is None or not chain or turns_in(chain[0]) != turns_in(op):
                finish()
            chain.append(op)
    finish()
    return [memory[out][: int(np.prod(shape_of(out)))] for out in outs]


@dataclass
class Body:
    """A body that grows op by op; tiles hold defined values only."""

    window_rows: int
    columns: int
    channels: int
    outputs: int = 1
    shared: SSAValue | None = None
    """The empty tensor that all instructions write into which need one; None for one each."""
    ops: list[Operation] = field(default_factory=list[Operation])
    tiles: list[SSAValue] = field(default_factory=list[SSAValue])

    def __post_init__(self) -> None:
        shape = (self.columns, self.channels)
        rows = TensorType(f32, (self.window_rows, *shape))
        self.block = Block(arg_types=[rows, TensorType(f32, shape), TensorType(f32, (self.channels, self.channels))])
        self.rows, self.constant, self.matrix = self.block.args

    def share(self) -> None:
        """From here on, there is one empty tensor."""
        self.shared = self.empty()

    def empty(self) -> SSAValue:
        return self.shared or self.add(pim.EmptyOp(self.columns, self.channels))

    def add(self, op: Operation) -> SSAValue:
        self.ops.append(op)
        return op.results[0]

    def issue(self, name: str, size: int, count: int, reads: list[tuple[SSAValue, Access]], dest: SSAValue,
              access: Access, **more: object) -> SSAValue:  # fmt: skip
        return self.add(IssueOp(name, size, count, reads, dest, access, **more))  # pyright: ignore

    def batch(self, yielded: Sequence[SSAValue]) -> pim.CoreBatchOp:
        self.block.add_ops([*self.ops, pim.YieldOp(*yielded)])
        shape = (self.columns, self.channels)
        source = pim.InputOp.create(result_types=[TensorType(f32, (self.window_rows, *shape))])
        constant = pim.EmptyOp(*shape)
        matrix = pim.EmptyOp(self.channels, self.channels)
        return pim.CoreBatchOp(
            lanes=1,
            replicas=1,
            cores=ArrayAttr.get(np.zeros(1, np.int32)),
            steps=ArrayAttr.get(np.zeros(1, np.int64)),
            spans=None,
            resumes=None,
            inputs=[source.results[0]],
            windows=[WindowAttr(RowWindow(self.window_rows, 1, rows=self.window_rows))],
            constants=[constant.result],
            matrices=[matrix.result],
            outs=[],
            result_types=[TensorType(f32, (1, *shape)) for _ in yielded],
            body=Region(self.block),
        )


@st.composite
def bodies(draw: st.DrawFn) -> pim.CoreBatchOp:
    body = Body(draw(st.integers(1, 3)), draw(st.integers(1, 4)), draw(st.integers(1, 5)))
    columns, channels = body.columns, body.channels
    everything = columns * channels
    by_column = Access(step=channels)
    groups = ArrayAttr.get(np.zeros(1, np.int32))
    if draw(st.booleans()):
        body.share()

    def operand(whole: bool) -> tuple[SSAValue, Access]:
        value = draw(st.sampled_from([body.rows, body.constant, *body.tiles]))
        row = draw(st.integers(0, body.window_rows - 1)) if value is body.rows else 0
        return value, Access(row=row, step=0 if whole else channels)

    def dest() -> SSAValue:
        return draw(st.sampled_from(body.tiles)) if body.tiles and draw(st.booleans()) else body.empty()

    for _ in range(draw(st.integers(1, 9))):
        kind = draw(st.sampled_from(["whole", "columns", "fill", "part", "product", "sum", "chain", "blocks"]))
        if kind in ("whole", "columns"):
            whole = kind == "whole"
            name = draw(st.sampled_from([*UNARY, *BINARY]))
            reads = [operand(whole) for _ in range(pim.INSTRUCTIONS[name])]
            size, count = (everything, 1) if whole else (channels, columns)
            body.tiles.append(body.issue(name, size, count, reads, dest(), Access() if whole else by_column))
        elif kind == "fill":
            body.tiles.append(body.issue("lldi", everything, 1, [], dest(), Access(), immediate=3))
        elif kind == "part" and body.tiles:
            # One column of an old tile is written anew.
            at = draw(st.integers(0, columns - 1)) * channels
            source = draw(st.sampled_from([body.constant, *body.tiles]))
            start = draw(st.integers(0, columns - 1)) * channels
            old = draw(st.sampled_from(body.tiles))
            body.tiles.append(body.issue("lmv", channels, 1, [(source, Access(start=start))], old, Access(start=at)))
        elif kind == "product":
            reads = [operand(False)]
            more = {"matrix": body.matrix, "groups": groups}
            body.tiles.append(body.issue("mvmul", channels, columns, reads, body.empty(), by_column, **more))
        elif kind == "sum" and body.tiles:
            # Every turn adds to what the turn before left.
            total = draw(st.sampled_from(body.tiles))
            reads = [(total, Access()), (body.constant, by_column)]
            body.tiles.append(body.issue("vvadd", channels, columns, reads, total, Access()))
        elif kind == "chain":
            moved = body.issue("lmv", channels, columns, [operand(False)], body.empty(), by_column)
            more = {"matrix": body.matrix, "groups": groups, "chained": True}
            product = body.issue("mvmul", channels, columns, [(moved, by_column)], body.empty(), by_column, **more)
            reads = [(product, by_column), operand(False)]
            total = body.issue("vvadd", channels, columns, reads, product, by_column, chained=True)
            body.tiles += draw(st.sampled_from([[total], [total, product], [total, moved]]))
        elif kind == "blocks":
            turns = draw(st.sampled_from([turns for turns in range(1, columns + 1) if columns % turns == 0]))
            more = {"matrix": body.matrix, "groups": groups, "turns": turns}
            sizes = everything // turns, turns
            block = Access(step=sizes[0])
            tiles = [
                body.issue("mvmul", channels, columns, [operand(False)], body.empty(), by_column, **more, chained=first)
                for first in (False, True)
            ]
            reads = [(tile, block) for tile in tiles]
            total = body.issue("vvadd", *sizes, reads, body.empty(), block, chained=True)
            again = body.issue("mvmul", channels, columns, [operand(False)], tiles[1], by_column, **more, chained=True)
            total = body.issue("vvadd", *sizes, [(total, block), (again, block)], total, block, chained=True)
            body.tiles += draw(st.sampled_from([[total], [total, again], [total, *tiles]]))
    yielded = draw(st.lists(st.sampled_from([body.constant, *body.tiles]), min_size=1, max_size=3))
    return body.batch(yielded)


@settings(max_examples=300, deadline=None)
@given(bodies(), st.integers(0, 10))
def test_tensors_and_buffers_agree(batch: pim.CoreBatchOp, seed: int) -> None:
    check_agreement(batch, seed)


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None)
@given(bodies(), st.integers(0, 10))
def test_many_tensors_and_buffers_agree(batch: pim.CoreBatchOp, seed: int) -> None:
    check_agreement(batch, seed)


def check_agreement(batch: pim.CoreBatchOp, seed: int) -> None:
    """They compute the same from random numbers."""
    batch.verify()
    random = np.random.default_rng(seed)
    arguments = [random.normal(size=int(np.prod(shape_of(a)))).astype(np.float32) for a in batch.block.args]
    matrix = arguments[-1].reshape(shape_of(batch.block.args[-1]))
    expected = run_tensors(batch, [*arguments[:-1], matrix])
    body = bufferize_body(batch, TARGET)
    found = run_buffers(body.block, body.slack, [*arguments[:-1], matrix], 1)
    for want, got in zip(expected, found, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)


@settings(max_examples=150, deadline=None)
@given(bodies())
def test_copies_are_those_that_save_what_would_be_overwritten(batch: pim.CoreBatchOp) -> None:
    """The guard counts what has to be copied by itself, and allows as many copies."""
    values, elements = overwritten(list(batch.block.ops))
    added = [op for op in bufferize_body(batch, TARGET).block.ops if isinstance(op, IssueOp)]
    selected = sum(isinstance(op, IssueOp) for op in batch.block.ops)
    assert len(added) - selected == bufferize_body(batch, TARGET).copies == values
    assert (elements > 0) == (values > 0)


def copies(batch: pim.CoreBatchOp) -> int:
    return bufferize_body(batch, TARGET).copies


def test_in_place_where_nothing_reads_the_old_content() -> None:
    body = Body(1, 2, 3)
    first = body.issue("vrelu", 6, 1, [(body.rows, Access())], body.empty(), Access())
    second = body.issue("vvadd", 6, 1, [(first, Access()), (body.constant, Access())], first, Access())
    batch = body.batch([second])
    assert copies(batch) == 0
    assert not any(isinstance(op, pim.AllocOp) for op in bufferize_body(batch, TARGET).block.ops)


def test_a_shared_empty_tensor_is_one_for_each_that_writes_into_it() -> None:
    """Equal `pim.empty` ops may have become one."""

    def block(shared: bool) -> Block:
        body = Body(1, 2, 3)
        if shared:
            body.share()
        first = body.issue("vrelu", 6, 1, [(body.rows, Access())], body.empty(), Access())
        second = body.issue("vtanh", 6, 1, [(body.rows, Access())], body.empty(), Access())
        third = body.issue("vvadd", 6, 1, [(first, Access()), (second, Access())], body.empty(), Access())
        return bufferize_body(body.batch([third, second]), TARGET).block

    assert block(shared=True).is_structurally_equivalent(block(shared=False))


def test_a_copy_where_the_old_content_is_read() -> None:
    body = Body(1, 2, 3)
    first = body.issue("vrelu", 6, 1, [(body.rows, Access())], body.empty(), Access())
    second = body.issue("vvadd", 3, 1, [(first, Access()), (body.constant, Access())], first, Access())
    third = body.issue("vvmul", 6, 1, [(first, Access()), (second, Access())], body.empty(), Access())
    assert copies(body.batch([third])) == 1


def test_a_chain_needs_the_room_of_one_column() -> None:
    body = Body(1, 4, 3)
    moved = body.issue("lmv", 3, 4, [(body.rows, Access(step=3))], body.empty(), Access(step=3))
    groups = ArrayAttr.get(np.zeros(1, np.int32))
    more = {"matrix": body.matrix, "groups": groups, "chained": True}
    product = body.issue("mvmul", 3, 4, [(moved, Access(step=3))], body.empty(), Access(step=3), **more)
    block = bufferize_body(body.batch([product]), TARGET).block
    assert [shape_of(op.result) for op in block.ops if isinstance(op, pim.AllocOp)] == [(1, 3)]


def test_blocks_need_the_room_of_one_turn() -> None:
    body = Body(1, 6, 3)
    groups = ArrayAttr.get(np.zeros(1, np.int32))
    more = {"matrix": body.matrix, "groups": groups, "turns": 2}
    read = [(body.rows, Access(step=3))]
    one = body.issue("mvmul", 3, 6, read, body.empty(), Access(step=3), **more)
    other = body.issue("mvmul", 3, 6, read, body.empty(), Access(step=3), **more, chained=True)
    reads = [(one, Access(step=9)), (other, Access(step=9))]
    total = body.issue("vvadd", 9, 2, reads, body.empty(), Access(step=9), chained=True)
    block = bufferize_body(body.batch([total]), TARGET).block
    assert [shape_of(op.result) for op in block.ops if isinstance(op, pim.AllocOp)] == [(3, 3), (3, 3)]
    first, second, added = [op for op in block.ops if isinstance(op, IssueOp)]
    assert first.dest_access.data == second.dest_access.data == Access(step=3, cycle=3)
    assert [access for _, access in added.reads] == [Access(), Access()]
    assert added.dest_access.data == Access(step=9)


def test_products_do_not_overwrite_what_is_held() -> None:
    body = Body(1, 2, 3)
    held = body.issue("lldi", 6, 1, [], body.empty(), Access(), immediate=0)
    groups = ArrayAttr.get(np.zeros(1, np.int32))
    reads = [(body.rows, Access())]
    product = body.issue("mvmul", 3, 1, reads, held, Access(), matrix=body.matrix, groups=groups)
    with pytest.raises(TileError, match=re.escape("writes whole arrays, over what its destination holds")):
        bufferize_body(body.batch([product]), TARGET)
