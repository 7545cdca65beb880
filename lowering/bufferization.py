"""Bufferization: tensors become buffers, in place wherever that is legal.

A distributed tensor becomes one `pim.rows`, which loads, transfers and batches share. In a body, an instruction writes
where its destination tensor lies; that needs a copy only if something else reads the destination's old content later.
An empty tensor has no content, so each instruction that writes into one has a buffer of its own, even if they share it.
The row that a batch yields is formed in the row of the result itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ..dialects import pim
from ..dialects.location import copy_location, node_name, place_of
from ..dialects.pim import Access, IssueOp, access_attr, access_list, shape_of
from ..dialects.spat import WindowAttr
from ..support.diagnostics import TileError
from .instruction_chains import chains_of
from .pim_programs import programs_of
from .target import Target, target_of


def bufferize(module: ModuleOp) -> int:
    """Bufferizes every `pim.program` of the module; the number of copies that it had to add.

    Raises TileError if there is none.
    """
    target = target_of(module)
    return sum(_bufferize_program(program, target) for program in programs_of(module))


@dataclass
class _Rows:
    """What is known of a distributed tensor's buffer while it is collected."""

    source: Operation
    shape: tuple[int, ...]
    pad_left: int = 0
    pad_right: int = 0
    slack: int = 0


@dataclass
class _Body:
    """A bufferized body, what its out rows need behind them, and the copies that were added."""

    block: Block
    slack: list[int]
    copies: int = 0


def _bufferize_program(program: pim.ProgramOp, target: Target) -> int:
    ops = list(program.body.block.ops)
    _check_form(ops)
    roots = _roots(ops)
    rows = _collect_rows(ops, roots)
    bodies = {op: bufferize_body(op, target) for op in ops if isinstance(op, pim.CoreBatchOp)}
    for op, body in bodies.items():
        for result, slack in zip(op.results_, body.slack, strict=True):
            rows[result].slack = max(rows[result].slack, slack)
    rewrite = _Rewrite(roots, rows)
    for op in ops:
        rewrite.rewrite(op, bodies)
    program.body.detach_block(0)
    program.body.add_block(Block(rewrite.ops))
    for op in reversed(ops):
        op.detach()
        op.drop_all_references()
    return sum(body.copies for body in bodies.values())


def _check_form(ops: Sequence[Operation]) -> None:
    """Raises a TileError for what is on buffers already, and for what reads an input where it stands."""
    for op in ops:
        where = place_of(op)
        if isinstance(op, pim.RowsOp | pim.ConstantRowsOp) or (isinstance(op, pim.CoreBatchOp) and op.outs):
            raise TileError(where, "it is on buffers already", "run pim-bufferize once")
        read = op.inputs if isinstance(op, pim.CoreBatchOp) else [op.source] if isinstance(op, pim.TransferOp) else []
        if any(isinstance(value.owner, pim.InputOp) for value in read):
            raise TileError(where, "it reads an input that no core loads", "add a pim.load")


def _roots(ops: Sequence[Operation]) -> dict[SSAValue, SSAValue]:
    """The tensor whose rows each distributed tensor shares: its own, or the source's for a transfer."""
    roots: dict[SSAValue, SSAValue] = {}
    for op in ops:
        match op:
            case pim.TransferOp():
                assert op.result is not None
                roots[op.result] = roots[op.source]
            case pim.LoadOp():
                assert op.result is not None
                roots[op.result] = op.result
            case pim.CoreBatchOp():
                roots.update((result, result) for result in op.results_)
            case _:
                pass
    return roots


def _collect_rows(ops: Sequence[Operation], roots: dict[SSAValue, SSAValue]) -> dict[SSAValue, _Rows]:
    rows: dict[SSAValue, _Rows] = {}
    for op in ops:
        for result in op.results:
            if roots.get(result) is result:
                rows[result] = _Rows(op, shape_of(result))
        if isinstance(op, pim.CoreBatchOp):
            for value, window in zip(op.inputs, op.windows, strict=True):
                if value in roots and isinstance(window, WindowAttr):
                    held = rows[roots[value]]
                    held.pad_left = max(held.pad_left, window.data.pad_left)
                    held.pad_right = max(held.pad_right, window.data.pad_right)
    return rows


@dataclass
class _Rewrite:
    roots: dict[SSAValue, SSAValue]
    rows: dict[SSAValue, _Rows]
    ops: list[Operation] = field(default_factory=list[Operation])
    buffers: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    kept: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def rewrite(self, op: Operation, bodies: dict[pim.CoreBatchOp, _Body]) -> None:
        match op:
            case pim.CoreBatchOp():
                self._batch(op, bodies[op])
            case pim.LoadOp():
                assert op.result is not None
                dest = self._rows_of(op.result)
                self._add(op, pim.LoadOp(self.kept[op.source], op.rows, dest))
            case pim.TransferOp():
                self._add(op, pim.TransferOp(self._rows_of(op.source), op.messages))
            case pim.OutputOp():
                for value in op.values:
                    if value not in self.roots:
                        what = f"{value.type} is in no local memory, from where it could be stored"
                        raise TileError(f"output '{op.output_name.data}'", what, "copy it in a pim.core_batch")
                values = [self._rows_of(value) for value in op.values]
                self._add(op, pim.OutputOp(op.output_name, op.shape, op.channels, values, op.images, op.element))
            case _:
                copy = self._add(op, op.clone())
                self.kept.update(zip(op.results, copy.results, strict=True))

    def _rows_of(self, value: SSAValue) -> SSAValue:
        root = self.roots[value]
        if root not in self.buffers:
            held = self.rows[root]
            op = pim.RowsOp(held.shape, held.pad_left, held.pad_right, held.slack)
            self.buffers[root] = self._add(held.source, op).results[0]
        return self.buffers[root]

    def _constant(self, value: SSAValue) -> SSAValue:
        if value not in self.buffers:
            owner = value.owner
            assert isinstance(owner, Operation)
            self.buffers[value] = self._add(owner, pim.ConstantRowsOp(self.kept[value])).results[0]
        return self.buffers[value]

    def _batch(self, op: pim.CoreBatchOp, body: _Body) -> None:
        given, held, matrices, _ = op.split_operands
        inputs = [self._rows_of(v) if v in self.roots else self._constant(v) for v in given]
        constants = [self._constant(value) for value in held]
        outs = [self._rows_of(result) for result in op.results_]
        batch = pim.CoreBatchOp(
            lanes=op.lane_count,
            replicas=op.replica_count,
            cores=op.cores,
            steps=op.steps,
            spans=op.spans,
            resumes=op.resumes,
            fetches=op.fetches,
            inputs=inputs,
            windows=op.windows.data,
            constants=constants,
            matrices=[self.kept[value] for value in matrices],
            outs=outs,
            result_types=[],
            body=Region(body.block),
        )
        self._add(op, batch)

    def _add(self, source: Operation, op: Operation) -> Operation:
        self.ops.append(copy_location(source, op))
        return op


# Bodies


def bufferize_body(op: pim.CoreBatchOp, target: Target) -> _Body:
    """The body of a batch on buffers."""
    return _BodyBufferization(op, target).run()


class _BodyBufferization:
    def __init__(self, op: pim.CoreBatchOp, target: Target) -> None:
        self._op = op
        self._target = target
        inputs = [pim.buffer_type(*shape_of(argument)) for argument in op.input_arguments]
        constants = [pim.buffer_type(*shape_of(argument)) for argument in op.constant_arguments]
        matrices: list[Attribute] = [argument.type for argument in op.matrix_arguments]
        outs = [pim.buffer_type(*shape_of(result)[1:]) for result in op.results_]
        self._block = Block(arg_types=[*inputs, *constants, *matrices, *outs])
        self._buffers: dict[SSAValue, SSAValue] = dict(zip(op.block.args, self._block.args, strict=False))
        self._outs = self._block.args[len(op.block.args) :]
        self._copies = 0

    def run(self) -> _Body:
        separate_empties(self._op.block)
        ops = list(self._op.block.ops)
        position = {op: index for index, op in enumerate(ops)}
        self._place_outs(ops)
        for op in ops:
            match op:
                case pim.EmptyOp():
                    if op.result not in self._buffers:
                        self._buffers[op.result] = self._add(op, pim.AllocOp(shape_of(op.result))).results[0]
                case IssueOp():
                    self._issue(op, position)
                case pim.YieldOp():
                    self._yield(op)
                case _:
                    raise AssertionError(f"{op.name} in the body of a batch on tensors")
        contract_chains(self._block)
        return _Body(self._block, self._set_slack(), self._copies)

    def _place_outs(self, ops: Sequence[Operation]) -> None:
        """Forms yielded rows in place, where they grow from an empty tensor of their own."""
        yielded = ops[-1]
        assert isinstance(yielded, pim.YieldOp)
        for value, out in zip(yielded.values, self._outs, strict=True):
            root = _grown_from(value)
            if isinstance(root.owner, pim.EmptyOp) and root not in self._buffers:
                self._buffers[root] = out

    def _yield(self, op: pim.YieldOp) -> None:
        """Copies the rows that were not formed in place; first those that lie in the place of another result."""
        moved = [
            (self._buffers[value], out)
            for value, out in zip(op.values, self._outs, strict=True)
            if self._buffers[value] is not out
        ]
        for value, out in sorted(moved, key=lambda pair: pair[0] not in self._outs):
            self._copy(op, value, out)
        self._add(op, pim.EndOp())

    def _issue(self, op: IssueOp, position: dict[Operation, int]) -> None:
        read, matrix, written = op.split_operands
        dest, mine = self._buffers[written], position[op]
        if any(position.get(use.operation, mine) > mine for use in written.uses):
            # Something reads the old content later: write elsewhere.
            fresh = self._add(op, pim.AllocOp(shape_of(written))).results[0]
            self._copy(op, dest, fresh)
            dest = fresh
        self._buffers[op.results[0]] = dest
        # What an instruction reads of its destination includes what its earlier turns wrote.
        sources = [dest if value is written else self._buffers[value] for value in read]
        if matrix is not None:
            self._check_overhang(op, matrix, written)
            sources.append(self._buffers[matrix])
        self._add(op, IssueOp.create(operands=[*sources, dest], properties=op.properties))

    def _check_overhang(self, op: IssueOp, matrix: SSAValue, dest: SSAValue) -> None:
        """A product writes whole arrays: what it destroys that way may not be needed."""
        if shape_of(matrix)[1] % self._target.array_columns:
            columns, channels = shape_of(dest)
            access = op.dest_access.data
            whole = access == Access(step=channels) and op.count == columns
            if not whole and (not isinstance(dest.owner, pim.EmptyOp) or access.step < 0):
                raise TileError(
                    place_of(op) if node_name(op) else place_of(self._op),
                    "a matrix product writes whole arrays, over what its destination holds",
                    "let it write to an empty tensor, or all of it, column after column",
                )

    def _copy(self, source: Operation, value: SSAValue, dest: SSAValue) -> None:
        self._copies += 1
        columns, channels = shape_of(dest)[-2:]
        self._add(source, IssueOp("lmv", columns * channels, 1, [(value, Access())], dest, Access()))

    def _set_slack(self) -> list[int]:
        """Room behind every buffer that a matrix product writes past its end; that of the out rows is returned."""
        slack: dict[SSAValue, int] = {}
        for op in self._block.ops:
            if not isinstance(op, IssueOp):
                continue
            _, matrix, dest = op.split_operands
            if matrix is not None:
                *_, columns, channels = shape_of(dest)
                wide = self._target.array_columns
                written = -(-shape_of(matrix)[1] // wide) * wide
                access = op.dest_access.data
                last = access.start + access.last(op.count) * access.step + written
                slack[dest] = max(slack.get(dest, 0), last - columns * channels)
        for op in self._block.ops:
            if isinstance(op, pim.AllocOp):
                op.properties["slack"] = pim.integer(slack.get(op.result, 0))
        return [slack.get(out, 0) for out in self._outs]

    def _add(self, source: Operation, op: Operation) -> Operation:
        self._block.add_op(copy_location(source, op))
        return op


def separate_empties(block: Block) -> None:
    """Gives each instruction that writes into an empty tensor one of its own: `pim.empty` is pure, so that any pass may
    have made one of several."""
    for empty in [op for op in block.ops if isinstance(op, pim.EmptyOp)]:
        users = {use.operation for use in empty.result.uses}
        writers = [op for op in block.ops if op in users and op.operands[-1] is empty.result] if len(users) > 1 else []
        kept = writers[:1] if len(writers) == len(users) else []
        for op in writers[len(kept) :]:
            assert isinstance(op, IssueOp)
            own = copy_location(empty, empty.clone())
            block.insert_op_before(own, op)
            for index, operand in enumerate(op.operands):
                if operand is empty.result:
                    op.operands[index] = own.results[0]


def _grown_from(value: SSAValue) -> SSAValue:
    """The tensor that the first instruction wrote into, of all that led to this one."""
    while isinstance(owner := value.owner, IssueOp):
        _, _, value = owner.split_operands
    return value


# Chains


def contract_chains(block: Block) -> None:
    """Gives tiles that live only within one turn of a chain the room of the columns of one turn."""
    chains = {op: index for index, chain in enumerate(chains_of(block)) for op in chain}
    for alloc in [op for op in block.ops if isinstance(op, pim.AllocOp)]:
        users = [use.operation for use in alloc.result.uses]
        issues = [user for user in users if isinstance(user, IssueOp)]
        if issues and len({chains[user] for user in issues}) == 1:
            _contract(alloc, issues)


def _contract(alloc: pim.AllocOp, users: Sequence[IssueOp]) -> None:
    columns, channels = shape_of(alloc.result)
    turns = users[0].turn_count
    if columns % turns:
        return
    columns //= turns
    for user in users:
        each = user.count // turns
        touched = [(value, access, user.size) for value, access in user.reads]
        touched.append((user.dest, user.dest_access.data, user.written_size))
        for value, access, size in touched:
            if value is alloc.result:
                end = access.start + (each - 1) * access.step + size
                if access.cycle or access.step * each != columns * channels or end > columns * channels:
                    return
    narrow = pim.AllocOp((columns, channels))
    copy_location(alloc, narrow)
    block = alloc.parent
    assert block is not None
    block.insert_op_before(narrow, alloc)
    for user in users:
        each = user.count // turns
        user.properties["accesses"] = access_list(*(_again(a, each) if v is alloc.result else a for v, a in user.reads))
        if user.dest is alloc.result:
            user.properties["dest_access"] = access_attr(_again(user.dest_access.data, each))
    alloc.result.replace_all_uses_with(narrow.result)
    alloc.detach()
    alloc.erase()


def _again(access: Access, each: int) -> Access:
    """The access of the first turn, which repeats ``each`` times, for every turn."""
    if each == 1:
        return access._replace(step=0)
    return access._replace(cycle=each)
