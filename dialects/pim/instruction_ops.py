"""The bodies of batches: instructions, on tensors before bufferization and on buffers after it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr as BuiltinArrayAttr
from xdsl.dialects.builtin import (
    StringAttr,
    UnitAttr,
)
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import (
    IsTerminator,
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from ...codegen.isa import Op
from ..interned import Integer, buffer_type, initialize, integer, segment_sizes, segments, string, tensor_type
from ..shaped_types import MOST_ROWS, TILE, F32Shape, shape_of
from ..tile import ArrayAttr
from ..traits import VerifiedAlone, VerifiedWithin
from ..verification import verify_addresses
from .attributes import Access, AccessAttr, access_attr, access_list
from .values import TILE_BUFFER, is_tensor

INSTRUCTIONS: dict[str, int] = {
    "mvmul": 1,
    "vvadd": 2,
    "vvsub": 2,
    "vvmul": 2,
    "vvmax": 2,
    "vvdmul": 2,
    "vrelu": 1,
    "vtanh": 1,
    "vsigm": 1,
    "vmv": 1,
    "lmv": 1,
    "lldi": 0,
}
"""The instructions that `pim.issue` issues, with the number of vectors that each reads."""


@irdl_op_definition
class EmptyOp(IRDLOperation):
    """A tensor of unspecified content: where an instruction writes.

    Instructions may share one: there is nothing in it to overwrite, and each gets a buffer of its own.

    ```mlir
    %0 = pim.empty : tensor<56x64xf32>
    ```
    """

    name = "pim.empty"
    result = result_def(TILE)
    traits = traits_def(Pure(), VerifiedAlone())
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, *shape: int) -> None:
        Operation.__init__(self, result_types=[tensor_type(*shape)])


@irdl_op_definition
class AllocOp(IRDLOperation):
    """A buffer in the local memory of each core that runs the batch; `pim-plan-memory` gives it addresses (in bytes).

    `slack` elements behind the buffer may be overwritten: a matrix product writes whole arrays.

    ```mlir
    %0 = pim.alloc slack 64 : memref<56x64xf32>
    ```
    """

    name = "pim.alloc"
    slack = prop_def(Integer)
    addresses = opt_prop_def(ArrayAttr)
    result = result_def(TILE_BUFFER)
    traits = traits_def(VerifiedWithin())
    assembly_format = "`slack` $slack (`at` $addresses^)? attr-dict `:` type($result)"

    def __init__(self, shape: Sequence[int], slack: int = 0) -> None:
        initialize(self, (), {"slack": integer(slack)}, (buffer_type(*shape),))

    def verify_(self) -> None:
        if self.slack.value.data < 0:
            raise VerifyException("slack may not be negative")
        if self.slack.value.data > MOST_ROWS:
            raise VerifyException(f"slack is at most {MOST_ROWS}")
        self.verify_arrays()

    def verify_arrays(self) -> None:
        """Raises a VerifyException if the table has wrong columns, or says something twice. The check of plans looks
        at addresses."""
        verify_addresses(self.addresses, ("core", "address"))


@irdl_op_definition
class IssueOp(IRDLOperation):
    """Issues one instruction per lane and repeat index, in place of the destination.

    `chained` ops alternate with the ops before them, turn by turn instead of op by op. Each turn is one repeat index;
    with `turns`, the repeats are shared out to so many turns, as many indices one after another to each.

    ```mlir
    %1 = pim.issue "vvadd" length 64 repeat 56 (%a, %bias : tensor<56x64xf32>, tensor<1x64xf32>)
        [#pim.access<step 64>, #pim.access<>] into %0 : tensor<56x64xf32> #pim.access<step 64> -> tensor<56x64xf32>
    ```
    """

    name = "pim.issue"
    instruction = prop_def(StringAttr)
    length = prop_def(Integer)
    repeat = prop_def(Integer)
    turns = opt_prop_def(Integer)
    sources = var_operand_def(F32Shape((2, 3), buffers=True))
    accesses = prop_def(BuiltinArrayAttr[AccessAttr])
    matrix = opt_operand_def(TILE)
    matrix_row = opt_prop_def(Integer)
    groups = opt_prop_def(ArrayAttr)
    immediate = opt_prop_def(Integer)
    chained = opt_prop_def(UnitAttr)
    dest = operand_def(F32Shape((2,), buffers=True))
    dest_access = prop_def(AccessAttr)
    result = opt_result_def(TILE)
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    traits = traits_def(VerifiedAlone())
    assembly_format = (
        "$instruction `length` $length `repeat` $repeat (`turns` $turns^)? (`chained` $chained^)? "
        "(`immediate` $immediate^)? ` ` `(` ($sources^ `:` type($sources))? `)` $accesses "
        "(`matrix` $matrix^ `:` type($matrix) `row` $matrix_row `groups` $groups)? "
        "`into` $dest `:` type($dest) qualified($dest_access) attr-dict (`->` type($result)^)?"
    )

    def __init__(
        self,
        instruction: str,
        length: int,
        repeat: int,
        sources: Sequence[tuple[SSAValue, Access]],
        dest: SSAValue,
        dest_access: Access,
        *,
        matrix: SSAValue | None = None,
        matrix_row: int = 0,
        groups: ArrayAttr | None = None,
        immediate: int | None = None,
        chained: bool = False,
        turns: int | None = None,
    ) -> None:
        properties = {
            "instruction": string(instruction),
            "length": integer(length),
            "repeat": integer(repeat),
            "accesses": access_list(*(access for _, access in sources)),
            "dest_access": access_attr(dest_access),
            "matrix_row": None if matrix is None else integer(matrix_row),
            "groups": groups,
            "immediate": None if immediate is None else integer(immediate),
            "chained": UnitAttr() if chained else None,
            "turns": None if turns in (None, repeat) else integer(turns),
            "operandSegmentSizes": segments(len(sources), int(matrix is not None), 1),
        }
        operands = (*(value for value, _ in sources), *(() if matrix is None else (matrix,)), dest)
        initialize(self, operands, properties, (dest.type,) if is_tensor(dest) else ())

    @property
    def opcode(self) -> Op:
        return Op[self.instruction.data.upper()]

    @property
    def count(self) -> int:
        """Instructions per lane."""
        return self.repeat.value.data

    @property
    def turn_count(self) -> int:
        """Turns in which the instructions of a lane come, if they alternate with others."""
        return self.count if self.turns is None else self.turns.value.data

    @property
    def size(self) -> int:
        """Elements that one instruction works on."""
        return self.length.value.data

    @property
    def split_operands(self) -> tuple[Sequence[SSAValue], SSAValue | None, SSAValue]:
        """Sources, matrix and destination, in one go: each alone takes as long."""
        operands = tuple(self.operands)
        sources, matrix, _ = segment_sizes(self)
        return operands[:sources], operands[sources] if matrix else None, operands[-1]

    @property
    def reads(self) -> list[tuple[SSAValue, Access]]:
        sources, _, _ = self.split_operands
        return [(value, access.data) for value, access in zip(sources, self.accesses, strict=True)]

    @property
    def written_size(self) -> int:
        """Elements that one instruction writes, without those of unused array columns."""
        match self.instruction.data:
            case "mvmul":
                _, matrix, _ = self.split_operands
                assert matrix is not None
                return shape_of(matrix)[1]
            case "vvdmul":
                return 1
            case _:
                return self.size

    def verify_(self) -> None:
        name = self.instruction.data
        sources, matrix, dest = self.split_operands
        if name not in INSTRUCTIONS:
            raise VerifyException(f"unknown instruction '{name}'; one of {', '.join(INSTRUCTIONS)} expected")
        if len(sources) != INSTRUCTIONS[name] or len(self.accesses) != len(sources):
            raise VerifyException(
                f"{name} reads {INSTRUCTIONS[name]} vectors, {len(sources)} with {len(self.accesses)} accesses given"
            )
        if (matrix is not None) != (name == "mvmul"):
            raise VerifyException("a matrix is given to mvmul, and to nothing else")
        if self.groups is not None and (len(self.groups.shape) != 1 or self.groups.dtype.kind not in "iu"):
            raise VerifyException(f"groups are {self.groups.tensor_type}, an integer for each replica expected")
        if self.size < 1 or self.count < 1:
            raise VerifyException(f"length {self.size} and repeat {self.count} have to be positive")
        if self.turn_count < 1 or self.count % self.turn_count:
            raise VerifyException(f"repeat {self.count} cannot be shared out to {self.turn_count} turns")
        if is_tensor(dest) != (self.result is not None):
            raise VerifyException("an instruction on tensors has a result, one on buffers has none")
        if self.result is not None and self.result.type != dest.type:
            raise VerifyException(f"the result is {self.result.type}, the destination {dest.type}")
        if any(is_tensor(value) != is_tensor(dest) for value in sources):
            raise VerifyException("an instruction on tensors reads tensors, one on buffers reads buffers")
        for value, access in self.reads:
            reach = 1 if name == "vmv" else self.size
            self._check_bounds("reads", value, access, reach)
        self._check_bounds("writes", dest, self.dest_access.data, self.written_size)
        if matrix is not None:
            rows = shape_of(matrix)[0]
            first = 0 if self.matrix_row is None else self.matrix_row.value.data
            if not 0 <= first <= first + self.size <= rows:
                raise VerifyException(f"mvmul takes weight rows {first} to {first + self.size} of {rows}")

    def _check_bounds(self, verb: str, value: SSAValue, access: Access, reach: int) -> None:
        *rows, columns, channels = shape_of(value)
        if access.cycle < 0:
            raise VerifyException(f"{self.instruction.data} {verb} with the negative cycle {access.cycle}")
        last = access.last(self.count)
        lowest = min(access.start, access.start + last * access.step)
        highest = max(access.start, access.start + last * access.step) + reach
        if lowest < 0 or highest > columns * channels:
            raise VerifyException(
                f"{self.instruction.data} {verb} elements {lowest} to {highest} of {columns * channels}"
            )
        height = rows[0] if rows else 1
        for row in (access.row, access.row + last * access.row_step):
            if not 0 <= row < height:
                raise VerifyException(f"{self.instruction.data} {verb} row {row} of {height}")


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Ends the body of a batch on tensors with one row of each result.

    ```mlir
    pim.yield %row : tensor<56x64xf32>
    ```
    """

    name = "pim.yield"
    values = var_operand_def(TILE)
    traits = traits_def(IsTerminator(), Pure(), VerifiedAlone())
    assembly_format = "($values^ `:` type($values))? attr-dict"

    def __init__(self, *values: SSAValue) -> None:
        initialize(self, values, {}, ())


@irdl_op_definition
class EndOp(IRDLOperation):
    """Ends the body of a batch on buffers.

    ```mlir
    pim.end
    ```
    """

    name = "pim.end"
    traits = traits_def(IsTerminator(), Pure(), VerifiedAlone())
    assembly_format = "attr-dict"
