"""The `pim` dialect: the machine. Cores, array groups, the instructions of the ISA, local and global memory.

The same ops appear on tensors (what each core computes, pure) and, after `pim-bufferize`, on buffers that
`pim-plan-memory` gives addresses. `pim.issue` stands for instructions in bulk: one per lane and repeat index.
"""

from xdsl.ir import Dialect

from ..interned import buffer_type, integer
from ..shaped_types import shape_of
from .attributes import Access, AccessAttr, access_attr, access_list
from .batch_ops import CoreBatchOp
from .instruction_ops import INSTRUCTIONS, AllocOp, EmptyOp, EndOp, IssueOp, YieldOp
from .program_ops import ConstantOp, InputOp, MatrixOp, OutputOp, ProgramOp
from .row_ops import ConstantRowsOp, LoadOp, RowsOp, TransferOp

__all__ = [
    "INSTRUCTIONS",
    "Access",
    "AccessAttr",
    "AllocOp",
    "ConstantOp",
    "ConstantRowsOp",
    "CoreBatchOp",
    "EmptyOp",
    "EndOp",
    "InputOp",
    "IssueOp",
    "LoadOp",
    "MatrixOp",
    "OutputOp",
    "Pim",
    "ProgramOp",
    "RowsOp",
    "TransferOp",
    "YieldOp",
    "access_attr",
    "access_list",
    "buffer_type",
    "integer",
    "shape_of",
]

Pim = Dialect(
    "pim",
    [
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
    ],
    [AccessAttr],
)
