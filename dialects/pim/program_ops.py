"""The program, what is in global memory, and the weights."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Region
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import (
    ConstantLike,
    HasParent,
    NoTerminator,
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from ..interned import tensor_type
from ..network_io import NetworkInputOp, NetworkOutputOp
from ..shaped_types import TILE, TILE_OR_ROWS, shape_of
from ..tile import ArrayAttr
from ..traits import Isolated, VerifiedAlone
from ..verification import verify_addresses
from .values import VALUES


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

    def verify_(self) -> None:
        verify_addresses(self.zeros, ("core", "address", "bytes"))
        if self.peak_bytes is not None and len(self.peak_bytes.shape) != 1:
            raise VerifyException(f"bytes of each core expected, not {self.peak_bytes.tensor_type}")


@irdl_op_definition
class InputOp(NetworkInputOp):
    """An input of the network, in global memory, row by row.

    `as` gives the network's own element type, if that is not f32.

    ```mlir
    pim.program {
      %0 = pim.input "data" shape <i64[4] [1, 3, 4, 4]> : tensor<4x4x3xf32>
    }
    ```
    """

    name = "pim.input"
    traits = traits_def(HasParent(ProgramOp))


@irdl_op_definition
class OutputOp(NetworkOutputOp):
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
    values = var_operand_def(VALUES)
    traits = traits_def(HasParent(ProgramOp))


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """A constant that vector instructions read, in global memory. Every core that uses it loads it, when the schedule
    has planned that, or else right before its first use.

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
    """Weights, which stay in the arrays of every core that uses them.

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
