"""Lanes on cores."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ArrayAttr as BuiltinArrayAttr
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    ParsePropInAttrDict,
    irdl_op_definition,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import (
    HasParent,
)
from xdsl.utils.exceptions import VerifyException

from ...analysis.window import window_rows
from ..interned import Integer, buffer_type, initialize, integer, segment_sizes, segments, tensor_type
from ..lane_batch import PlacedBatchOp
from ..shaped_types import ROWS, TILE, F32Shape, shape_of
from ..spat.attributes import WindowAttr
from ..tile import ArrayAttr
from ..traits import Isolated, VerifiedWithin
from ..verification import verify_window
from .instruction_ops import AllocOp, EmptyOp, EndOp, IssueOp, YieldOp
from .program_ops import ConstantOp, ProgramOp
from .row_ops import ConstantRowsOp
from .values import BUFFER_OF_ROWS, VALUES, is_tensor


@irdl_op_definition
class CoreBatchOp(PlacedBatchOp):
    """Lanes of one body on the cores of its replicas, in the chip's one order of steps.

    On tensors, the body yields a row of each result; on buffers, it writes to the buffers given as `outs`. An input has
    a window (which rows a lane reads) or a table `i64[lanes, 1]` with its row.

    ```mlir
    pim.program {
      %x = pim.input "x" shape <i64[2] [1, 2]> : tensor<1x1x2xf32>
      %y = pim.core_batch lanes 1 replicas 1 cores <i32[1] [0]> steps <i64[1] [0]> ins(%x : tensor<1x1x2xf32>)
          windows [#spat.window<height 1, lanes 1>] constants() matrices() outs() -> tensor<1x1x2xf32> {
      ^bb0(%rows: tensor<1x1x2xf32>):
        %0 = pim.empty : tensor<1x2xf32>
        %1 = pim.issue "vrelu" length 2 repeat 1 (%rows : tensor<1x1x2xf32>) [#pim.access<>]
            into %0 : tensor<1x2xf32> #pim.access<> -> tensor<1x2xf32>
        pim.yield %1 : tensor<1x2xf32>
      }
    }
    ```
    """

    name = "pim.core_batch"
    inputs = var_operand_def(VALUES)
    constants = var_operand_def(F32Shape((2,), buffers=True))
    matrices = var_operand_def(TILE)
    outs = var_operand_def(BUFFER_OF_ROWS)
    results_ = var_result_def(ROWS)
    replicas = prop_def(Integer)
    windows = prop_def(BuiltinArrayAttr[Attribute])
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    traits = traits_def(Isolated(), VerifiedWithin(), HasParent(ProgramOp))
    assembly_format = (
        "`lanes` $lanes `replicas` $replicas `cores` $cores `steps` $steps (`spans` $spans^)? "
        "(`resumes` $resumes^)? (`fetches` $fetches^)? `ins` `(` ($inputs^ `:` type($inputs))? `)` `windows` $windows "
        "`constants` `(` ($constants^ `:` type($constants))? `)` "
        "`matrices` `(` ($matrices^ `:` type($matrices))? `)` "
        "`outs` `(` ($outs^ `:` type($outs))? `)` attr-dict-with-keyword (`->` type($results_)^)? $body"
    )

    def __init__(
        self,
        *,
        lanes: int,
        replicas: int,
        cores: ArrayAttr,
        steps: ArrayAttr,
        spans: ArrayAttr | None,
        resumes: ArrayAttr | None,
        fetches: ArrayAttr | None = None,
        inputs: Sequence[SSAValue],
        windows: Sequence[Attribute],
        constants: Sequence[SSAValue],
        matrices: Sequence[SSAValue],
        outs: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        body: Region,
    ) -> None:
        properties = {
            "lanes": integer(lanes),
            "replicas": integer(replicas),
            "cores": cores,
            "steps": steps,
            "spans": spans,
            "resumes": resumes,
            "fetches": fetches,
            "windows": BuiltinArrayAttr(windows),
            "operandSegmentSizes": segments(len(inputs), len(constants), len(matrices), len(outs)),
        }
        initialize(self, (*inputs, *constants, *matrices, *outs), properties, result_types, (body,))

    @property
    def split_operands(self) -> tuple[Sequence[SSAValue], ...]:
        """Inputs, constants, matrices and outs, in one go: each alone takes as long."""
        return self._split(tuple(self.operands))

    @property
    def _arguments(self) -> tuple[Sequence[SSAValue], ...]:
        """The block arguments, as the operands are split."""
        return self._split(self.block.args)

    def _split(self, values: Sequence[SSAValue]) -> tuple[Sequence[SSAValue], ...]:
        inputs, constants, matrices, _ = segment_sizes(self)
        ends = (0, inputs, inputs + constants, inputs + constants + matrices, len(values))
        return tuple([values[start:end] for start, end in pairwise(ends)])

    @property
    def replica_count(self) -> int:
        return self.replicas.value.data

    @property
    def loaded_constants(self) -> list[SSAValue]:
        """What each core of the batch loads, as `fetches` numbers it: the constants, then inputs that are constant."""
        inputs, constants, *_ = self.split_operands
        return [*constants, *(value for value in inputs if isinstance(value.owner, ConstantOp | ConstantRowsOp))]

    @property
    def input_arguments(self) -> Sequence[SSAValue]:
        return self._arguments[0]

    @property
    def constant_arguments(self) -> Sequence[SSAValue]:
        return self._arguments[1]

    @property
    def matrix_arguments(self) -> Sequence[SSAValue]:
        return self._arguments[2]

    @property
    def out_arguments(self) -> Sequence[SSAValue]:
        return self._arguments[3]

    def input_rows(self, index: int) -> NDArray[np.int64]:
        """The rows of an input that each lane reads, `[lanes, rows]`; -1 for a row of zeros."""
        window = self.windows.data[index]
        if isinstance(window, WindowAttr):
            return window_rows(window.data, self.lane_count)
        assert isinstance(window, ArrayAttr)
        return window.array

    def verify_(self) -> None:
        inputs, constants, matrices, outs = self.split_operands
        lanes, results = self.lane_count, self.results
        self.verify_lanes(len(inputs), len(self.windows))
        if bool(outs) == bool(results):
            raise VerifyException("a batch on tensors has results, one on buffers has outs")
        expected = [self._window_type(*pair) for pair in zip(inputs, self.windows, strict=True)]
        expected += [value.type for value in (*constants, *matrices)]
        expected += [buffer_type(*shape_of(out)[1:]) for out in outs]
        self.verify_arguments(expected)
        for value in (*outs, *results):
            if shape_of(value)[0] != lanes:
                raise VerifyException(f"a result of {shape_of(value)[0]} rows in a batch of {lanes} lanes")
        self._verify_body()

    def _window_type(self, value: SSAValue, window: Attribute) -> Attribute:
        """The type of the argument that stands for what a lane reads of an input."""
        rows, columns, channels = shape_of(value)
        lanes = self.lane_count
        match window:
            case WindowAttr():
                verify_window(window.data, rows, lanes)
                shape = (window.data.rows, window.data.pad_left + columns + window.data.pad_right, channels)
            case ArrayAttr() if window.shape == (lanes, 1) and window.dtype == np.dtype("<i8"):
                if window.has_data and not ((window.array >= 0) & (window.array < rows)).all():
                    raise VerifyException(f"the table of an input names a row outside its {rows}")
                shape = (1, columns, channels)
            case _:
                raise VerifyException(f"a window is a #spat.window or a table i64[{lanes}, 1], not {window}")
        return tensor_type(*shape) if is_tensor(value) else buffer_type(*shape)

    def _verify_body(self) -> None:
        allowed = (EmptyOp, IssueOp, YieldOp) if self.results else (AllocOp, IssueOp, EndOp)
        for op in self.block.ops:
            if not isinstance(op, allowed):
                raise VerifyException(f"{op.name} in a body of {', '.join(kind.name for kind in allowed)}")
            groups = op.properties.get("groups")  # the instruction itself may be invalid, which is for it to say
            if isinstance(groups, ArrayAttr) and groups.shape != (self.replica_count,):
                raise VerifyException(f"array groups {groups.tensor_type} for {self.replica_count} replicas")
        last = self.block.last_op
        if isinstance(last, YieldOp):
            yielded = [shape_of(value) for value in last.values]
            if yielded != [shape_of(value)[1:] for value in self.results]:
                raise VerifyException(f"rows of shape {yielded} do not make the results")
