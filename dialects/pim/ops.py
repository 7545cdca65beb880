"""Ops of the `pim` dialect, on tensors before bufferization and on buffers after it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import (
    I64,
    IntegerAttr,
    ShapedType,
    StringAttr,
    TensorType,
    UnitAttr,
)
from xdsl.dialects.builtin import ArrayAttr as BuiltinArrayAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
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
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import (
    ConstantLike,
    HasParent,
    IsTerminator,
    NoTerminator,
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from ...analysis.window import window_rows
from ...codegen.isa import Op
from ..interned import buffer_type, initialize, integer, segment_sizes, segments, string, tensor_type
from ..shaped_types import ROWS, TILE, TILE_OR_ROWS, F32Shape
from ..spat.attributes import WindowAttr
from ..spat.verification import (
    lane_spans,
    output_images,
    verify_element,
    verify_fetches,
    verify_output,
    verify_resumes,
    verify_schedule,
    verify_spans,
    verify_window,
)
from ..tile import ArrayAttr
from ..traits import Isolated, VerifiedAlone, VerifiedWithin
from .attributes import Access, AccessAttr, access_attr, access_list

Integer: TypeAlias = IntegerAttr[I64]

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

LOAD_COLUMNS = ("row", "core", "step")
"""Of a table of loads or stores, `i64[N, 3]`: the row, the core that moves it, and the step at which it does."""


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The static shape of a tensor or buffer."""
    type = value.type
    assert isinstance(type, ShapedType)
    return type.get_shape()


def is_tensor(value: SSAValue) -> bool:
    """Whether a value is a tensor; otherwise it is a buffer."""
    type: Attribute = value.type
    return isinstance(type, TensorType)


_VALUES = F32Shape((3,), buffers=True)
"""Distributed tensors, or the buffers of their rows."""

_BUFFER_OF_ROWS = F32Shape((3,), tensors=False, buffers=True)
_TILE_BUFFER = F32Shape((2,), tensors=False, buffers=True)


def _check_table(table: ArrayAttr, columns: Sequence[str], rows: int) -> None:
    if len(table.shape) != 2 or table.shape[1] != len(columns) or table.dtype != np.dtype("<i8"):
        raise VerifyException(f"a table i64[N, {len(columns)}] of {', '.join(columns)} expected")
    if table.has_data and table.size:
        if (table.array < 0).any():
            raise VerifyException(f"a {columns[int((table.array < 0).any(axis=0).argmax())]} in the table is negative")
        if (last := int(table.array[:, 0].max())) >= rows:
            raise VerifyException(f"the table names row {last} of {rows}")


def _check_addresses(table: ArrayAttr | None, columns: Sequence[str]) -> None:
    """Of what `pim-plan-memory` adds."""
    if table is not None and (table.shape[1:] != (len(columns),) or table.dtype.kind not in "iu"):
        raise VerifyException(f"a table of {', '.join(columns)} expected, not {table.tensor_type}")


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


@irdl_op_definition
class ProgramOp(IRDLOperation):
    """The program of the chip: what is in global memory, what each core does, and how data moves between them.

    `pim-plan-memory` adds the rows of zeros, a table `i64[N, 3]` of core, address and bytes, and the bytes of local
    memory that each core uses.

    ```mlir
    pim.program {
      %0 = pim.input "data" shape <i64[4] [1, 3, 4, 4]> : tensor<4x4x3xf32>
    }
    ```
    """

    name = "pim.program"
    zeros = opt_prop_def(ArrayAttr)
    peak_bytes = opt_prop_def(ArrayAttr)
    body = region_def("single_block")
    traits = traits_def(Isolated(), NoTerminator())
    assembly_format = "(`zeros` $zeros^)? (`peak` $peak_bytes^)? attr-dict-with-keyword $body"

    def __init__(self, body: Region) -> None:
        super().__init__(regions=[body])


@irdl_op_definition
class InputOp(IRDLOperation):
    """An input of the network, in global memory, row by row.

    `as` gives the network's own element type, if that is not f32.

    ```mlir
    pim.program {
      %0 = pim.input "data" shape <i64[4] [1, 3, 4, 4]> : tensor<4x4x3xf32>
    }
    ```
    """

    name = "pim.input"
    input_name = prop_def(StringAttr)
    shape = prop_def(ArrayAttr)
    element = opt_prop_def()
    result = result_def(ROWS)
    traits = traits_def(Pure(), HasParent(ProgramOp))
    assembly_format = "$input_name `shape` $shape (`as` $element^)? attr-dict `:` type($result)"

    def __init__(
        self, name: StringAttr, shape: ArrayAttr, result_type: Attribute, element: Attribute | None = None
    ) -> None:
        super().__init__(
            properties={"input_name": name, "shape": shape, "element": element}, result_types=[result_type]
        )

    def verify_(self) -> None:
        verify_element(self.element)
        size, held = int(np.prod(self.shape.array, dtype=np.int64)), int(np.prod(shape_of(self.result)))
        if size != held:
            raise VerifyException(f"an input of {size} elements has {held} as {self.result.type}")


@irdl_op_definition
class OutputOp(IRDLOperation):
    """Stores an output of the network to global memory: each row by the core that computes it.

    `shape` is a row-major reshape of (images, channels, height, columns); `images` is given if it does not start so.
    `as` gives the network's own element type, if that is not f32.

    ```mlir
    pim.program {
      %0 = pim.input "data" shape <i64[2] [1, 2]> : tensor<1x1x2xf32>
      pim.output "copy" shape <i64[2] [1, 2]> channels [#tile.array<i32[2] [0, 1]>] %0 : tensor<1x1x2xf32>
    }
    ```
    """

    name = "pim.output"
    output_name = prop_def(StringAttr)
    shape = prop_def(ArrayAttr)
    channels = prop_def(BuiltinArrayAttr[ArrayAttr])
    element = opt_prop_def()
    images = opt_prop_def(Integer)
    values = var_operand_def(_VALUES)
    traits = traits_def(HasParent(ProgramOp))
    assembly_format = (
        "$output_name `shape` $shape (`as` $element^)? (`images` $images^)? `channels` $channels $values attr-dict "
        "`:` type($values)"
    )

    def __init__(
        self,
        name: StringAttr,
        shape: ArrayAttr,
        channels: BuiltinArrayAttr[ArrayAttr],
        values: Sequence[SSAValue],
        images: Integer | None = None,
        element: Attribute | None = None,
    ) -> None:
        super().__init__(
            operands=[values],
            properties={
                "output_name": name,
                "shape": shape,
                "channels": channels,
                "images": images,
                "element": element,
            },
        )

    @property
    def image_count(self) -> int:
        return output_images(self.shape, self.images)

    def verify_(self) -> None:
        verify_element(self.element)
        verify_output(self.shape, self.images, self.channels.data, self.values)


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """A constant that vector instructions read: in global memory, loaded at the start by every core that uses it.

    A single column is loaded once and then repeated in local memory.

    ```mlir
    pim.program {
      %0 = pim.constant <f32[1, 2] [0.5, 1.0]> : tensor<56x2xf32>
    }
    ```
    """

    name = "pim.constant"
    value = prop_def(ArrayAttr)
    result = result_def(TILE_OR_ROWS)
    traits = traits_def(Pure(), ConstantLike(), VerifiedAlone())
    assembly_format = "$value attr-dict `:` type($result)"

    def __init__(self, value: ArrayAttr, columns: int = 1) -> None:
        *rows, channels = value.shape
        shape = (columns, channels) if rows == [1] else value.shape
        super().__init__(properties={"value": value}, result_types=[tensor_type(*shape)])

    def verify_(self) -> None:
        shape, value = shape_of(self.result), self.value.shape
        repeats = len(value) == len(shape) == 2 and value[0] == 1 and value[1] == shape[1]
        if self.value.dtype != np.dtype("<f4") or not (shape == value or repeats):
            raise VerifyException(f"a constant of {self.value.tensor_type} does not repeat to {self.result.type}")


@irdl_op_definition
class MatrixOp(IRDLOperation):
    """Weights that stand in the arrays of every core that uses them.

    ```mlir
    pim.program {
      %0 = pim.matrix <f32[2, 2] [1.0, 0.0, 0.0, 1.0]> : tensor<2x2xf32>
    }
    ```
    """

    name = "pim.matrix"
    value = prop_def(ArrayAttr)
    result = result_def(TILE)
    traits = traits_def(Pure(), ConstantLike(), VerifiedAlone())
    assembly_format = "$value attr-dict `:` type($result)"

    def __init__(self, value: ArrayAttr) -> None:
        super().__init__(properties={"value": value}, result_types=[tensor_type(*value.shape)])

    def verify_(self) -> None:
        if self.value.tensor_type != self.result.type:
            raise VerifyException(f"a matrix of {self.value.tensor_type} has result type {self.result.type}")


@irdl_op_definition
class CoreBatchOp(IRDLOperation):
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
    inputs = var_operand_def(_VALUES)
    constants = var_operand_def(F32Shape((2,), buffers=True))
    matrices = var_operand_def(TILE)
    outs = var_operand_def(_BUFFER_OF_ROWS)
    results_ = var_result_def(ROWS)
    lanes = prop_def(Integer)
    replicas = prop_def(Integer)
    cores = prop_def(ArrayAttr)
    steps = prop_def(ArrayAttr)
    spans = opt_prop_def(ArrayAttr)
    resumes = opt_prop_def(ArrayAttr)
    fetches = opt_prop_def(ArrayAttr)
    windows = prop_def(BuiltinArrayAttr[Attribute])
    body = region_def("single_block")
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
        fetches: ArrayAttr | None,
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
    def lane_count(self) -> int:
        return self.lanes.value.data

    @property
    def replica_count(self) -> int:
        return self.replicas.value.data

    @property
    def lane_cores(self) -> NDArray[np.int64]:
        """The core of each lane."""
        return self.cores.array.astype(np.int64)[np.arange(self.lane_count) % self.replica_count]

    @property
    def lane_spans(self) -> NDArray[np.int64]:
        """Steps that each lane extends over from its own, 1 by default; what comes meanwhile interrupts it."""
        return lane_spans(self.spans, self.lane_count)

    @property
    def lane_resumes(self) -> NDArray[np.int64] | None:
        """[n, 3] lane, cycles that it has done, and steps since its first, where it goes on after an interruption."""
        return None if self.resumes is None else self.resumes.array.astype(np.int64)

    @property
    def loaded_constants(self) -> list[SSAValue]:
        """What each core of the batch loads, as `fetches` numbers it: the constants, then inputs that are constant."""
        inputs, constants, *_ = self.split_operands
        return [*constants, *(value for value in inputs if isinstance(value.owner, ConstantOp | ConstantRowsOp))]

    @property
    def last_steps(self) -> NDArray[np.int64]:
        """The last step of each lane."""
        return self.steps.array.astype(np.int64) + self.lane_spans - 1

    @property
    def block(self) -> Block:
        return self.body.block

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
        lanes, replicas = self.lane_count, self.replica_count
        if lanes < 1 or not 1 <= replicas <= lanes:
            raise VerifyException(f"a batch of {lanes} lanes with {replicas} replicas")
        self.verify_arrays()
        inputs, constants, matrices, outs = self.split_operands
        results = self.results
        if len(self.windows) != len(inputs):
            raise VerifyException(f"{len(inputs)} inputs with {len(self.windows)} windows")
        if bool(outs) == bool(results):
            raise VerifyException("a batch on tensors has results, one on buffers has outs")
        expected = [self._window_type(*pair) for pair in zip(inputs, self.windows, strict=True)]
        expected += [value.type for value in (*constants, *matrices)]
        expected += [buffer_type(*shape_of(out)[1:]) for out in outs]
        if (found := list(self.block.arg_types)) != expected:
            shown = ", ".join(map(str, expected))
            raise VerifyException(f"the body's arguments are ({', '.join(map(str, found))}), expected ({shown})")
        for value in (*outs, *results):
            if shape_of(value)[0] != lanes:
                raise VerifyException(f"a result of {shape_of(value)[0]} rows in a batch of {lanes} lanes")
        self._verify_body()

    def verify_arrays(self) -> None:
        """Raises a VerifyException if the numbers of the schedule are wrong."""
        lanes = self.lane_count
        verify_schedule(self.cores, self.replica_count, self.steps, lanes)
        verify_spans(self.spans, lanes)
        verify_resumes(self.resumes, self.spans, lanes)
        verify_fetches(self.fetches)

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
        last = self.block.last_op
        if isinstance(last, YieldOp):
            yielded = [shape_of(value) for value in last.values]
            if yielded != [shape_of(value)[1:] for value in self.results]:
                raise VerifyException(f"rows of shape {yielded} do not make the results")


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
class EmptyOp(IRDLOperation):
    """A tensor of unspecified content: where an instruction writes.

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
    result = result_def(_TILE_BUFFER)
    traits = traits_def(VerifiedWithin())
    assembly_format = "`slack` $slack (`at` $addresses^)? attr-dict `:` type($result)"

    def __init__(self, shape: Sequence[int], slack: int = 0) -> None:
        initialize(self, (), {"slack": integer(slack)}, (buffer_type(*shape),))

    def verify_(self) -> None:
        if self.slack.value.data < 0:
            raise VerifyException("slack may not be negative")
        self.verify_arrays()

    def verify_arrays(self) -> None:
        """Raises a VerifyException if the table has wrong columns. The stream check looks at addresses."""
        _check_addresses(self.addresses, ("core", "address"))


@irdl_op_definition
class IssueOp(IRDLOperation):
    """Issues one instruction per lane and repeat index, in place of the destination.

    `chained` ops alternate with the ops before them: repeat index by repeat index instead of op by op.

    ```mlir
    %1 = pim.issue "vvadd" length 64 repeat 56 (%a, %bias : tensor<56x64xf32>, tensor<1x64xf32>)
        [#pim.access<step 64>, #pim.access<>] into %0 : tensor<56x64xf32> #pim.access<step 64> -> tensor<56x64xf32>
    ```
    """

    name = "pim.issue"
    instruction = prop_def(StringAttr)
    length = prop_def(Integer)
    repeat = prop_def(Integer)
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
        "$instruction `length` $length `repeat` $repeat (`chained` $chained^)? (`immediate` $immediate^)? "
        "` ` `(` ($sources^ `:` type($sources))? `)` $accesses "
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
        if self.size < 1 or self.count < 1:
            raise VerifyException(f"length {self.size} and repeat {self.count} have to be positive")
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
        last = self.count - 1
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
    dest = opt_operand_def(_BUFFER_OF_ROWS)
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
        _check_table(self.rows, LOAD_COLUMNS, shape_of(self.source)[0])


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
    source = operand_def(_VALUES)
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
        _check_table(self.messages, ("row", "source", "target", "step"), shape_of(self.source)[0])
        if self.messages.has_data and (self.messages.array[:, 1] == self.messages.array[:, 2]).any():
            raise VerifyException("a message from a core to itself")


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
    result = result_def(_BUFFER_OF_ROWS)
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
        self.verify_arrays()

    def verify_arrays(self) -> None:
        """Raises a VerifyException if the tables have wrong columns. The stream check looks at addresses."""
        _check_addresses(self.instances, ("core", "row", "address"))
        _check_addresses(self.rings, ("core", "address", "bytes", "key of the first row"))


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
        """Raises a VerifyException if the table has wrong columns. The stream check looks at addresses."""
        _check_addresses(self.instances, ("core", "address", "step"))


OPS = (
    EndOp,
    ProgramOp,
    InputOp,
    OutputOp,
    ConstantOp,
    MatrixOp,
    CoreBatchOp,
    YieldOp,
    EmptyOp,
    AllocOp,
    IssueOp,
    LoadOp,
    TransferOp,
    RowsOp,
    ConstantRowsOp,
)
