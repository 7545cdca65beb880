"""What instruction selection builds up: values, operands, and the instructions on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...dialects.pim import Access
from ..body_content import BodyContent, Shape, TileOp
from .blocks import Blocks
from .selection import Constant, Empty, Issue, Matrix, Operand, Pick, Selection, Yield


@dataclass
class Building:
    """The selection of a body, as far as it has come."""

    content: BodyContent
    shares_tiles: bool = True
    """Whether products of a block may take the tile of those before them, which have been added."""
    shapes: list[Shape] = field(default_factory=list[Shape])
    steps: list[Empty | Issue | Yield] = field(default_factory=list["Empty | Issue | Yield"])

    def __post_init__(self) -> None:
        content = self.content
        self._inputs = content.inputs
        self._weights = range(content.inputs, len(content.arguments))
        self._type: list[Shape] = list(content.arguments)
        self._maker: list[str] = [""] * len(content.arguments)
        self._uses = [0] * len(content.arguments)
        self._user: dict[int, tuple[TileOp, int]] = {}
        """The last op that reads a value, and the number of its result."""
        self._products = sum(op.name == "spat.vmm" for op in content.ops)
        for op in content.ops:
            self._type += op.shapes
            self._maker += [op.name] * len(op.shapes)
            self._uses += [0] * len(op.shapes)
            for operand in op.operands:
                self._uses[operand] += 1
        for op, number in content.numbered():
            self._user.update((operand, (op, number)) for operand in op.operands)
        self._source = self._result = 0
        self._blocks = Blocks()
        self._picks: list[Pick] = []
        self._constants: dict[tuple[int | None, int, int], Constant] = {}
        self._matrices: dict[int, Matrix] = {}
        self._operands: dict[int, Operand] = {}
        self._tensor: dict[int, int] = {}
        """Of what instructions have written, the tensor that it is a version of."""
        self._read: set[int] = set()
        for argument in range(content.inputs):
            _, columns, channels = shape = content.arguments[argument]
            self._operands[argument] = Operand(self._value(shape), Access(0, 0, 0, channels), columns, channels)

    def finish(self) -> Selection:
        """The selection, once all ops are selected."""
        return Selection(
            tuple(self.shapes),
            tuple(self._picks),
            tuple(constant for constant in self._constants.values() if constant.value in self._read),
            tuple(self._matrices.values()),
            tuple(self.steps),
        )

    # Operands

    def _value(self, shape: Shape) -> int:
        self.shapes.append(shape)
        return len(self.shapes) - 1

    def _operand(self, number: int) -> Operand:
        if number in self._weights:
            return self._constant(number, 1)
        return self._operands[number]

    def _constant(self, number: int, columns: int) -> Operand:
        """A constant tile, its single column repeated ``columns`` times."""
        rows, channels = self._type[number]
        return self._held(number - self._inputs, max(rows, columns), channels)

    def _held(self, argument: int | None, count: int, channels: int) -> Operand:
        key = (argument, count, channels)
        if key not in self._constants:
            self._constants[key] = Constant(argument, count, channels, self._value((count, channels)))
        return Operand(self._constants[key].value, Access(step=channels), count, channels)

    def _contiguous(self, number: int) -> Operand:
        """The tile, copied if its columns do not lie side by side: once, however many read it."""
        operand = self._operand(number)
        if not operand.is_contiguous:
            operand = self._operands[number] = self._copy(operand)
        return operand

    def _copy(self, operand: Operand) -> Operand:
        target = self._empty(operand.columns, operand.length)
        count, length = (
            (1, operand.columns * operand.length) if operand.is_contiguous else (operand.columns, operand.length)
        )
        value = self._issue("lmv", length, count, [operand.reading(count)], target, Access(step=length))
        return Operand(value, Access(step=operand.length), operand.columns, operand.length)

    def _row(self, number: int) -> int:
        """A tensor that holds just this tile and that nothing else is to use: what a batch may yield."""
        operand = self._operand(number)
        whole = operand.is_contiguous and operand.access.start == 0 and operand.access.row == 0
        if whole and operand.value in self._tensor and self.shapes[operand.value] == (operand.columns, operand.length):
            return operand.value
        return self._copy(operand).value

    # Building

    def _destination(self, shape: Shape, *operands: tuple[int, Operand]) -> int:
        """Where an elementwise op of these operands writes: over one that nothing else reads, of two into the tensor
        that was there first, as what is added up to is; if there is none, to a new tensor."""
        free = [operand.value for number, operand in operands if self._may_overwrite(number, operand, shape)]
        return min(free, key=self._tensor.__getitem__) if free else self._empty(*shape)

    def _may_overwrite(self, number: int, operand: Operand, shape: Shape) -> bool:
        """Whether a result of this shape may take the place of an operand: nothing else reads what is there."""
        owned = operand.value in self._tensor and self._maker[number] != "spat.view"
        whole = operand.is_contiguous and operand.access.start == 0 and self.shapes[operand.value] == shape
        return owned and whole and self._uses[number] == 1

    def _empty(self, *shape: int) -> int:
        value = self._value(shape)
        self.steps.append(Empty(self._source, value))
        return value

    def _issue(
        self,
        instruction: str,
        length: int,
        repeat: int,
        reads: Sequence[tuple[int, Access]],
        dest: int,
        access: Access,
        *,
        matrix: int | None = None,
        matrix_row: int = 0,
        immediate: int | None = None,
        chained: bool = False,
        turns: int | None = None,
    ) -> int:
        turns = repeat if turns is None else turns
        if repeat == 1:
            reads = [(value, _once(read)) for value, read in reads]
            access, chained = _once(access), False
        self._read.update([value for value, _ in reads])
        result = self._value(self.shapes[dest])
        self._tensor[result] = self._tensor.get(dest, dest)
        issue = Issue(
            self._source, instruction, length, repeat, tuple(reads), dest, access, matrix, matrix_row, immediate,
            chained, turns, result,
        )  # fmt: skip
        self.steps.append(issue)
        self._blocks.issued(result, turns, repeat, chained)
        return result

    def _is_done(self, number: int) -> bool:
        """Whether it is a product that nothing else reads: where it lies, another one may lie in each turn."""
        return self._maker[number] == "spat.vmm" and self._uses[number] == 1


def _once(access: Access) -> Access:
    return Access(access.row, 0, access.start, 0)
