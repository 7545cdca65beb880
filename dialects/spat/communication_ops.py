"""Communication: first only *who needs which rows*, then messages in an order that cannot deadlock."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..interned import initialize
from ..shaped_types import ROWS, shape_of
from ..tile import ArrayAttr
from ..traits import VerifiedWithin
from ..verification import verify_messages, verify_table
from .attributes import ChannelType

NEED_COLUMNS = ("row", "core")
"""Of a table of needs, `i64[N, 2]`: row `row` of the tensor is read on `core`."""


@irdl_op_definition
class DeferredCommunicationOp(IRDLOperation):
    """Rows of a tensor are needed on cores that do not compute them; how they travel is not decided.

    ```mlir
    %x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
    %0 = spat.deferred_communication %x needs <i64[2, 2] [0, 7, 1, 7]> : tensor<4x4x2xf32>
    ```
    """

    name = "spat.deferred_communication"
    T: ClassVar = VarConstraint("T", ROWS)
    source = operand_def(T)
    needs = prop_def(ArrayAttr)
    result = result_def(T)
    traits = traits_def(Pure(), VerifiedWithin())
    assembly_format = "$source `needs` $needs attr-dict `:` type($result)"

    def __init__(self, source: SSAValue, needs: NDArray[np.int64]) -> None:
        initialize(self, (source,), {"needs": ArrayAttr.get(needs)}, (source.type,))

    def verify_(self) -> None:
        self.verify_arrays()

    def verify_arrays(self) -> None:
        """Raises a VerifyException if the table names what is not there."""
        verify_table(self.needs, NEED_COLUMNS, shape_of(self.source)[0])


@irdl_op_definition
class ChannelSendOp(IRDLOperation):
    """Sends rows of a tensor, one message each.

    ```mlir
    %x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
    %c = spat.channel_send %x messages <i64[1, 4] [0, 3, 7, 11]> : tensor<4x4x2xf32>
    ```
    """

    name = "spat.channel_send"
    source = operand_def(ROWS)
    messages = prop_def(ArrayAttr)
    channel = result_def(ChannelType())
    traits = traits_def(VerifiedWithin())
    assembly_format = "$source `messages` $messages attr-dict `:` type($source)"

    def __init__(self, source: SSAValue, messages: NDArray[np.int64]) -> None:
        initialize(self, (source,), {"messages": ArrayAttr.get(messages)}, (ChannelType(),))

    def verify_(self) -> None:
        self.verify_arrays()

    def verify_arrays(self) -> None:
        """Raises a VerifyException if the table names what is not there, or a message that goes nowhere."""
        verify_messages(self.messages, shape_of(self.source)[0])


@irdl_op_definition
class ChannelReceiveOp(IRDLOperation):
    """The tensor as it is known after its messages have arrived: the rows computed here and those received.

    ```mlir
    %x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
    %c = spat.channel_send %x messages <i64[1, 4] [0, 3, 7, 11]> : tensor<4x4x2xf32>
    %0 = spat.channel_receive %x from %c : tensor<4x4x2xf32>
    ```
    """

    name = "spat.channel_receive"
    T: ClassVar = VarConstraint("T", ROWS)
    source = operand_def(T)
    channel = operand_def(ChannelType())
    result = result_def(T)
    assembly_format = "$source `from` $channel attr-dict `:` type($result)"

    def __init__(self, source: SSAValue, channel: SSAValue) -> None:
        initialize(self, (source, channel), {}, (source.type,))

    @property
    def send(self) -> ChannelSendOp:
        owner = self.channel.owner
        assert isinstance(owner, ChannelSendOp)
        return owner

    def verify_(self) -> None:
        if not isinstance(owner := self.channel.owner, ChannelSendOp) or owner.source != self.source:
            raise VerifyException("a channel is received beside the tensor that was sent")
