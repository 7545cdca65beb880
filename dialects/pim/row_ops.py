"""Where rows are, and how they come there: buffers, loads and messages."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue
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
)
from xdsl.traits import (
    HasParent,
)
from xdsl.utils.exceptions import VerifyException

from ..interned import Integer, buffer_type, initialize, integer
from ..shaped_types import MOST_ROWS, ROWS, TILE_OR_ROWS, F32Shape, shape_of
from ..tile import ArrayAttr
from ..traits import VerifiedWithin
from ..verification import verify_addresses, verify_messages, verify_table
from .program_ops import ConstantOp, ProgramOp
from .values import BUFFER_OF_ROWS, VALUES, is_tensor

LOAD_COLUMNS = ("row", "core", "step")
"""Of a table of loads or stores, `i64[N, 3]`: the row, the core that moves it, and the step at which it does."""


@irdl_op_definition
class RowsOp(IRDLOperation):
    """Rows of a distributed tensor in local memories: each core that computes, receives or reads some keeps a ring.

    `pad_left` and `pad_right` columns of zeros surround every row; `slack` elements behind it may be overwritten.
    `pim-plan-memory` gives every instance of a row an address: `instances`, a table `i64[N, 3]` of core, row, address.

    ```mlir
    pim.program {
      %0 = pim.rows pad 1, 1 slack 0 : memref<56x56x64xf32>
    }
    ```
    """

    name = "pim.rows"
    pad_left = prop_def(Integer)
    pad_right = prop_def(Integer)
    slack = prop_def(Integer)
    instances = opt_prop_def(ArrayAttr)
    rings = opt_prop_def(ArrayAttr)
    result = result_def(BUFFER_OF_ROWS)
    assembly_format = (
        "`pad` $pad_left `,` $pad_right `slack` $slack (`at` $instances^ `rings` $rings)? attr-dict `:` type($result)"
    )
    traits = traits_def(HasParent(ProgramOp), VerifiedWithin())

    def __init__(self, shape: Sequence[int], pad_left: int, pad_right: int, slack: int) -> None:
        properties = {"pad_left": integer(pad_left), "pad_right": integer(pad_right), "slack": integer(slack)}
        initialize(self, (), properties, (buffer_type(*shape),))

    @property
    def pads(self) -> tuple[int, int]:
        return self.pad_left.value.data, self.pad_right.value.data

    def verify_(self) -> None:
        if min(*self.pads, self.slack.value.data) < 0:
            raise VerifyException("pads and slack may not be negative")
        if max(*self.pads, self.slack.value.data) > MOST_ROWS:
            raise VerifyException(f"pads and slack are at most {MOST_ROWS}")
        self.verify_arrays()

    def verify_arrays(self) -> None:
        """Raises a VerifyException if the tables have wrong columns, or say something twice. The check of plans looks
        at addresses."""
        verify_addresses(self.instances, ("core", "row", "address"), keys=2)
        verify_addresses(self.rings, ("core", "address", "bytes", "key of the first row"))


@irdl_op_definition
class ConstantRowsOp(IRDLOperation):
    """A constant in the local memory of every core that uses it, as a buffer.

    Once planned, each instance has its core, its address, and the step before which it is loaded from global memory.

    ```mlir
    pim.program {
      %c = pim.constant <f32[1, 2] [0.5, 1.0]> : tensor<1x2xf32>
      %0 = pim.constant_rows %c : tensor<1x2xf32> -> memref<1x2xf32>
    }
    ```
    """

    name = "pim.constant_rows"
    source = operand_def(TILE_OR_ROWS)
    instances = opt_prop_def(ArrayAttr)
    result = result_def(F32Shape((2, 3), tensors=False, buffers=True))
    assembly_format = "$source (`at` $instances^)? attr-dict `:` type($source) `->` type($result)"
    traits = traits_def(HasParent(ProgramOp), VerifiedWithin())

    def __init__(self, source: SSAValue) -> None:
        super().__init__(operands=[source], result_types=[buffer_type(*shape_of(source))])

    def verify_(self) -> None:
        if not isinstance(self.source.owner, ConstantOp):
            raise VerifyException("the source is no pim.constant")
        if shape_of(self.source) != shape_of(self.result):
            raise VerifyException(f"{self.source.type} is held as {self.result.type}")
        self.verify_arrays()

    def verify_arrays(self) -> None:
        """Raises a VerifyException if the table has wrong columns, or says something twice. The check of plans looks
        at addresses."""
        verify_addresses(self.instances, ("core", "address", "step"))


@irdl_op_definition
class LoadOp(IRDLOperation):
    """Rows of a tensor in global memory, loaded by the cores that need them.

    ```mlir
    pim.program {
      %x = pim.input "x" shape <i64[2] [1, 2]> : tensor<1x1x2xf32>
      %y = pim.load %x : tensor<1x1x2xf32> rows <i64[1, 3] [0, 5, 0]> -> tensor<1x1x2xf32>
    }
    ```
    """

    name = "pim.load"
    source = operand_def(ROWS)
    rows = prop_def(ArrayAttr)
    dest = opt_operand_def(BUFFER_OF_ROWS)
    result = opt_result_def(ROWS)
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = (
        "$source `:` type($source) `rows` $rows (`into` $dest^ `:` type($dest))? attr-dict (`->` type($result)^)?"
    )
    traits = traits_def(HasParent(ProgramOp), VerifiedWithin())

    def __init__(self, source: SSAValue, rows: ArrayAttr, dest: SSAValue | None = None) -> None:
        super().__init__(
            operands=[source, dest],
            properties={"rows": rows},
            result_types=[[] if dest is not None else [source.type]],
        )

    def verify_(self) -> None:
        if (self.dest is None) == (self.result is None):
            raise VerifyException("a load on tensors has a result, one on buffers a destination")
        loaded = self.dest if self.result is None else self.result
        assert loaded is not None
        if shape_of(loaded) != shape_of(self.source):
            raise VerifyException(f"{self.source.type} is loaded as {loaded.type}")
        self.verify_arrays()

    def verify_arrays(self) -> None:
        """Raises a VerifyException if the table names what is not there."""
        verify_table(self.rows, LOAD_COLUMNS, shape_of(self.source)[0])


@irdl_op_definition
class TransferOp(IRDLOperation):
    """Rows of a tensor sent from core to core: a `send` and a `recv` for each message, both at the message's step.

    On tensors, the result is the tensor as it is known afterwards, on all cores.

    ```mlir
    pim.program {
      %x = pim.input "x" shape <i64[2] [1, 2]> : tensor<1x1x2xf32>
      %y = pim.load %x : tensor<1x1x2xf32> rows <i64[1, 3] [0, 5, 0]> -> tensor<1x1x2xf32>
      %z = pim.transfer %y messages <i64[1, 4] [0, 5, 6, 0]> : tensor<1x1x2xf32> -> tensor<1x1x2xf32>
    }
    ```
    """

    name = "pim.transfer"
    source = operand_def(VALUES)
    messages = prop_def(ArrayAttr)
    result = opt_result_def(ROWS)
    assembly_format = "$source `messages` $messages attr-dict `:` type($source) (`->` type($result)^)?"
    traits = traits_def(HasParent(ProgramOp), VerifiedWithin())

    def __init__(self, source: SSAValue, messages: ArrayAttr) -> None:
        initialize(self, (source,), {"messages": messages}, (source.type,) if is_tensor(source) else ())

    def verify_(self) -> None:
        if is_tensor(self.source) != (self.result is not None):
            raise VerifyException("a transfer of tensors has a result, one of buffers has none")
        if self.result is not None and self.result.type != self.source.type:
            raise VerifyException(f"{self.source.type} is transferred as {self.result.type}")
        self.verify_arrays()

    def verify_arrays(self) -> None:
        """Raises a VerifyException if the table names what is not there, or a message that goes nowhere."""
        verify_messages(self.messages, shape_of(self.source)[0])
