"""The `spat` dialect: computation in space. Values are tensors, semantics are pure.

Three groups of ops: batches and what they read and give (`batch_ops`), the vector and matrix ops of a lane's body
(`tile_ops` and `arithmetic_ops`), and communication between cores (`communication_ops`).
"""

from xdsl.ir import Dialect

from ..shaped_types import shape_of
from .arithmetic_ops import (
    ElementwiseBinaryOp,
    ElementwiseUnaryOp,
    ReduceChannelsOp,
    ReduceColumnsOp,
    ReduceOp,
    ReduceRowsOp,
    ReluOp,
    SigmoidOp,
    TanhOp,
    VAddOp,
    VMaxOp,
    VMMOp,
    VMulOp,
    VSubOp,
)
from .attributes import ChannelType, WindowAttr
from .batch_ops import (
    BatchOp,
    ComputeBatchOp,
    ConstantOp,
    InputOp,
    OutputOp,
    ScheduledComputeBatchOp,
)
from .communication_ops import ChannelReceiveOp, ChannelSendOp, DeferredCommunicationOp
from .tile_ops import TILE_OPS, GatherOp, PadOp, PickOp, SpreadOp, ViewOp, YieldOp
from .tiles import tile_type

__all__ = [
    "BatchOp",
    "ChannelReceiveOp",
    "ChannelSendOp",
    "ChannelType",
    "ComputeBatchOp",
    "ConstantOp",
    "DeferredCommunicationOp",
    "ElementwiseBinaryOp",
    "ElementwiseUnaryOp",
    "GatherOp",
    "InputOp",
    "OutputOp",
    "PadOp",
    "PickOp",
    "ReduceChannelsOp",
    "ReduceColumnsOp",
    "ReduceOp",
    "ReduceRowsOp",
    "ReluOp",
    "ScheduledComputeBatchOp",
    "SigmoidOp",
    "Spat",
    "SpreadOp",
    "TanhOp",
    "VAddOp",
    "VMMOp",
    "VMaxOp",
    "VMulOp",
    "VSubOp",
    "ViewOp",
    "WindowAttr",
    "YieldOp",
    "shape_of",
    "tile_type",
]

Spat = Dialect(
    "spat",
    [
        ConstantOp,
        InputOp,
        OutputOp,
        ComputeBatchOp,
        ScheduledComputeBatchOp,
        DeferredCommunicationOp,
        ChannelSendOp,
        ChannelReceiveOp,
        *TILE_OPS,
    ],
    [WindowAttr, ChannelType],
)
