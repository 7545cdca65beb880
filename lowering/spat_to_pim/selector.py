"""Instruction selection: the body of a batch as instructions, decided on its content alone.

Views vanish into the accesses of the instructions that read them. A tile whose columns lie side by side takes one
instruction; otherwise there is one per column. Every instruction writes into a destination tensor: an empty one, or its
left operand's if nothing else reads that. Where operands may be swapped, the right one's place serves as well: what a
program takes does not depend on their order.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import cast

from ...dialects.pim import Access
from ..body_content import BodyContent, TileOp
from .blocks import turns_of_sum, turns_with_constant
from .building import Building
from .selection import Matrix, Operand, Pick, Selection, Yield, shared_tile_stays

BINARY = {"spat.vadd": "vvadd", "spat.vsub": "vvsub", "spat.vmul": "vvmul", "spat.vmax": "vvmax"}
COMMUTATIVE = ("spat.vadd", "spat.vmul", "spat.vmax")
UNARY = {"spat.relu": "vrelu", "spat.tanh": "vtanh", "spat.sigmoid": "vsigm"}
REDUCTION = {"add": "vvadd", "max": "vvmax"}

BLOCK = 2048
"""Elements that one instruction with a constant works on: over so many columns the constant is laid out repeatedly."""

KEPT = 4096
"""Selections of bodies of different content that are kept."""


@lru_cache(KEPT)
def select(content: BodyContent) -> Selection:
    """The instructions for a body of this content."""
    selector = _selected(content, True)
    if shared_tile_stays(selector.steps):
        # For the whole body, though some of its tiles might be shared: whether a tile stays is known only when all that
        # reads it is selected, and which product is at fault only from all that took it. No network's layers come here.
        selector = _selected(content, False)
    return selector.finish()


def _selected(content: BodyContent, shares_tiles: bool) -> _Selector:
    selector = _Selector(content, shares_tiles)
    for position, (op, number) in enumerate(content.numbered()):
        selector.select(position, op, number)
    return selector


class _Selector(Building):
    def select(self, position: int, op: TileOp, result: int) -> None:
        """Appends the instructions of one op, whose result has the number ``result``."""
        self._source, self._result = position, result
        if op.name == "spat.yield":
            self.steps.append(Yield(position, tuple([self._row(value) for value in op.operands])))
            return
        if op.name in BINARY:
            self._operands[result] = self._binary(op)
        elif op.name in UNARY:
            self._operands[result] = self._unary(op)
        else:
            assert op.name in _SELECT, f"no instruction selection for {op.name}"
            self._operands[result] = _SELECT[op.name](self, op)

    def view(self, op: TileOp) -> Operand:
        """`spat.view`: a way to read."""
        row, start, step = _integers(op, "row", "start", "step")
        count, length = op.shapes[0]
        (number,) = op.operands
        source = self._operand(number)
        if len(self._type[number]) == 3:
            return Operand(source.value, Access(row, 0, start, step), count, length)
        source = self._contiguous(number)
        access = Access(source.access.row, 0, source.access.start + start, step)
        # Turns are those of the source where each of them has the same elements.
        keeps = (count, step) == (source.columns, source.length)
        if step == length and count * length == source.columns * source.length:
            keeps = source.turns > 0 and count % source.turns == 0
        return Operand(source.value, access, count, length, source.turns if keeps else 0)

    def pick(self, op: TileOp) -> Operand:
        """`spat.pick`: a further window, of constants."""
        (number,) = op.operands
        _, columns, channels = self._type[number]
        value = self._value((1, columns, channels))
        self._picks.append(Pick(number - self._inputs, self._source, value))
        return Operand(value, Access(step=channels), columns, channels)

    def gather(self, op: TileOp) -> Operand:
        """`spat.gather`: a copy for each part."""
        count, total = op.shapes[0]
        target = self._empty(count, total)
        offset = 0
        for index, part in enumerate(op.operands):
            operand = self._operand(part)
            access = Access(start=offset, step=total)
            target = self._issue(
                "lmv", operand.length, count, [operand.reading(count)], target, access, chained=index > 0
            )
            offset += operand.length
        return Operand(target, Access(step=total), count, total, count if count > 1 else 0)

    def product(self, op: TileOp) -> Operand:
        """`spat.vmm`: a product for each column."""
        number, weights = op.operands
        vector = self._operand(number)
        count, channels = op.shapes[0]
        if weights not in self._matrices:
            self._matrices[weights] = Matrix(weights - self._inputs, self._value(self._type[weights]))
        turns = vector.turns or self._turns(count)
        joins = self._blocks.join(turns) and not self._blocks.wrote(vector.value)
        free = self._blocks.take((count, channels)) if joins and self.shares_tiles else None
        value = self._issue(
            "mvmul",
            vector.length,
            count,
            [vector.reading(count)],
            self._empty(count, channels) if free is None else free,
            Access(step=channels),
            matrix=self._matrices[weights].value,
            matrix_row=_integers(op, "row")[0],
            chained=vector.turns > 0 or joins,
            turns=turns or count,
        )
        return Operand(value, Access(step=channels), count, channels, turns)

    def _binary(self, op: TileOp) -> Operand:
        lhs, rhs = op.operands
        left = self._operand(lhs)
        count, length = left.columns, left.length
        right = self._operand(rhs)
        if right.length < length:
            right = self._spread(right, length)
        elif right.columns < count and rhs in self._weights and left.is_contiguous:
            if self._blocks.join(left.turns) and left.turns == _blocks_of(count, length):
                return self._in_turns(op, left)
            return self._in_blocks(op, left)
        whole = left.is_contiguous and right.is_contiguous and right.columns == count
        # What is computed of sums, and of no product any more, takes one instruction in no turns.
        turns = left.turns if left.turns == right.turns and self._adds_product(op) else 0
        joins = whole and self._blocks.join(turns)
        if not joins and turns < count:
            turns = 0
        repeat = turns or (1 if whole else count)
        size = count * length // repeat if whole else length
        reads = [left.reading(repeat), right.reading(repeat)]
        free = [self._operands[number].value for number in op.operands if joins and self._is_done(number)]
        places = ((lhs, left), (rhs, right)) if op.name in COMMUTATIVE else ((lhs, left),)
        kept = [(number, one) for number, one in places if one.value not in free]
        target = self._destination((count, length), *kept)
        value = self._issue(BINARY[op.name], size, repeat, reads, target, Access(step=size), chained=turns > 0)
        for tile in free:
            self._blocks.leave((count, length), tile)
        return Operand(value, Access(step=length), count, length, turns)

    def _adds_product(self, op: TileOp) -> bool:
        """Whether an operand is a product, and the other one something else, to be done in the same turns."""
        lhs, rhs = op.operands
        return lhs != rhs and "spat.vmm" in (self._maker[lhs], self._maker[rhs])

    def _turns(self, count: int) -> int:
        """In how many turns so many products come, which the op that is being selected gives."""
        if self._products > 1:
            return turns_of_sum(count)
        value = self._result
        while self._uses[value] == 1:
            op, number = self._user[value]
            if op.name in BINARY and op.operands[0] == value and op.operands[1] in self._weights:
                return turns_with_constant(count, _blocks_of(*op.shapes[0]))
            if op.name != "spat.view":
                break
            value = number
        return 0

    def _in_turns(self, op: TileOp, left: Operand) -> Operand:
        """A tile that comes in turns with a constant column, in these turns, which are as many as blocks would be."""
        lhs, rhs = op.operands
        count, length, turns = left.columns, left.length, left.turns
        size = count * length // turns
        constant = self._constant(rhs, count // turns).value, Access()
        product = self._maker[lhs] == "spat.vmm"
        target = self._destination((count, length), *([] if product else [(lhs, left)]))
        value = self._issue(
            BINARY[op.name], size, turns, [left.reading(turns), constant], target, Access(step=size), chained=True
        )
        return Operand(value, Access(step=length), count, length, turns)

    def _in_blocks(self, op: TileOp, left: Operand) -> Operand:
        """A contiguous tile with a constant column, several columns at a time."""
        lhs, rhs = op.operands
        count, length = left.columns, left.length
        columns = _block_columns(count, length)
        blocks, rest = divmod(count, columns)
        constant = self._constant(rhs, columns).value, Access()
        target = self._destination((count, length), (lhs, left))
        start, step = left.access, columns * length
        read = left.value, Access(start.row, 0, start.start, step)
        value = self._issue(BINARY[op.name], step, blocks, [read, constant], target, Access(step=step))
        if rest:
            source = value if target == left.value else left.value
            read = source, Access(start.row, 0, start.start + blocks * step)
            at = Access(start=blocks * step)
            value = self._issue(BINARY[op.name], rest * length, 1, [read, constant], value, at)
        return Operand(value, Access(step=length), count, length)

    def _unary(self, op: TileOp) -> Operand:
        (number,) = op.operands
        operand = self._operand(number)
        count, length = operand.columns, operand.length
        repeat, size = (1, count * length) if operand.is_contiguous else (count, length)
        target = self._destination((count, length), (number, operand))
        value = self._issue(UNARY[op.name], size, repeat, [operand.reading(repeat)], target, Access(step=length))
        return Operand(value, Access(step=length), count, length)

    def reduce_rows(self, op: TileOp) -> Operand:
        """`spat.reduce_rows`: the rows of a window, one after another onto the first."""
        (number,) = op.operands
        rows, columns, channels = self._type[number]
        source = self._operand(number).value
        size, name = columns * channels, REDUCTION[_text(op, "kind")]
        if rows == 1:
            return Operand(source, Access(step=channels), columns, channels)
        value = self._issue(
            name, size, 1, [(source, Access(row=0)), (source, Access(row=1))], self._empty(columns, channels), Access()
        )
        if rows > 2:
            value = self._issue(
                name, size, rows - 2, [(value, Access()), (source, Access(row=2, row_step=1))], value, Access()
            )
        return Operand(value, Access(step=channels), columns, channels)

    def reduce_columns(self, op: TileOp) -> Operand:
        """`spat.reduce_columns`: likewise the columns of a tile."""
        source = self._contiguous(op.operands[0])
        columns, channels = source.columns, source.length
        if columns == 1:
            return self._copy(source)
        name, first = REDUCTION[_text(op, "kind")], source.access
        start = Access(first.row, 0, first.start)
        value = self._issue(
            name,
            channels,
            1,
            [(source.value, start), (source.value, start.shifted(channels))],
            self._empty(1, channels),
            Access(),
        )
        if columns > 2:
            rest = Access(first.row, 0, first.start + 2 * channels, channels)
            value = self._issue(name, channels, columns - 2, [(value, Access()), (source.value, rest)], value, Access())
        return Operand(value, Access(step=channels), 1, channels)

    def reduce_channels(self, op: TileOp) -> Operand:
        """`spat.reduce_channels`: a product with ones, or halving."""
        source = self._operand(op.operands[0])
        count, length = source.columns, source.length
        if length == 1:
            return self._copy(source)
        if _text(op, "kind") == "add":
            sources = [source.reading(count), (self._held(None, 1, length).value, Access())]
            value = self._issue("vvdmul", length, count, sources, self._empty(count, 1), Access(step=1))
            return Operand(value, Access(step=1), count, 1)
        # Halve the channels until one is left: the instruction set has no maximum over a vector.
        value, left = self._copy(source).value, length
        while left > 1:
            half = -(-left // 2)
            value = self._issue(
                "vvmax",
                left - half,
                count,
                [(value, Access(step=length)), (value, Access(start=half, step=length))],
                value,
                Access(step=length),
            )
            left = half
        return Operand(value, Access(step=length), count, 1)

    def pad(self, op: TileOp) -> Operand:
        """`spat.pad`: a copy into the middle, and copies of the borders or zeros around it."""
        left, right, before, after = _integers(op, "left", "right", "before", "after")
        source = self._operand(op.operands[0])
        columns, channels = op.shapes[0]
        value = self._empty(columns, channels)
        if before or after:
            value = self._issue("lldi", columns * channels, 1, [], value, Access(), immediate=0)
            target = Access(start=before, step=channels)
            value = self._issue("lmv", source.length, source.columns, [source.reading(source.columns)], value, target)
            return Operand(value, Access(step=channels), columns, channels)
        source = self._contiguous(op.operands[0])
        inner = Access(start=left * channels)
        value = self._issue("lmv", source.columns * channels, 1, [source.reading(1)], value, inner)
        border = Access(source.access.row, 0, source.access.start)
        if left:
            value = self._issue("lmv", channels, left, [(source.value, border)], value, Access(step=channels))
        if right:
            border = border.shifted((source.columns - 1) * channels)
            target = Access(start=(left + source.columns) * channels, step=channels)
            value = self._issue("lmv", channels, right, [(source.value, border)], value, target)
        return Operand(value, Access(step=channels), columns, channels)

    def spread(self, op: TileOp) -> Operand:
        """`spat.spread`: each column's channel, repeated."""
        return self._spread(self._operand(op.operands[0]), op.shapes[0][1])

    def _spread(self, operand: Operand, channels: int) -> Operand:
        value = self._issue(
            "vmv",
            channels,
            operand.columns,
            [operand.reading(operand.columns)],
            self._empty(operand.columns, channels),
            Access(step=channels),
            immediate=0,
        )
        return Operand(value, Access(step=channels), operand.columns, channels)


def _block_columns(count: int, length: int) -> int:
    """Columns that one instruction with a constant works on."""
    return max(1, min(count, BLOCK // length))


def _blocks_of(count: int, length: int) -> int:
    """How many instructions with a constant so many columns take."""
    return -(-count // _block_columns(count, length))


_SELECT: dict[str, Callable[[_Selector, TileOp], Operand]] = {
    "spat.view": _Selector.view,
    "spat.pick": _Selector.pick,
    "spat.gather": _Selector.gather,
    "spat.vmm": _Selector.product,
    "spat.reduce_rows": _Selector.reduce_rows,
    "spat.reduce_columns": _Selector.reduce_columns,
    "spat.reduce_channels": _Selector.reduce_channels,
    "spat.pad": _Selector.pad,
    "spat.spread": _Selector.spread,
}


def _integers(op: TileOp, *names: str) -> list[int]:
    properties = dict(op.properties)
    return [cast("int", properties[name]) for name in names]


def _text(op: TileOp, name: str) -> str:
    return cast("str", dict(op.properties)[name])
