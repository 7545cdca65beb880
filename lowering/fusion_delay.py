"""How much later a lane is done if its work on one operand waits for the others as well."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation, SSAValue

from ..dialects.spat import ComputeBatchOp
from .lane_cost import BatchCosts
from .target import Target
from .transfer_costs import TransferModel


class FusionDelay:
    """Of the batches of one block, which are added in its order.

    Times are those of the longest chain of lanes up to a row, if each lane has a core of its own and each row is sent
    there.
    """

    def __init__(self, target: Target) -> None:
        self._costs = BatchCosts(target)
        self._transfers = TransferModel(target, uniform=True)
        self._ends: dict[Operation, int] = {}

    def add(self, batch: ComputeBatchOp) -> None:
        """A batch that stays as it is. Those that it reads have been added."""
        self._ends[batch] = self._begin(batch.split_operands[0]) + self._costs.of(batch).cycles

    def outweighs_message(self, producer: ComputeBatchOp, consumer: ComputeBatchOp, index: int) -> bool:
        """Whether fusing the producer of the operand ``index`` into its consumer delays the consumer by more than the
        message takes that fusing saves.

        What both do then begins when all operands are there. Apart, the producer begins when its own are.
        """
        message = self._transfers.of(producer.results[0]).usual_cycles
        own = self._begin(producer.split_operands[0])
        others = self._begin(value for place, value in enumerate(consumer.split_operands[0]) if place != index)
        cycles = self._costs.of(producer).cycles
        apart = max(own + cycles + message, others)
        return max(own, others) + cycles > apart + message

    def _begin(self, values: Iterable[SSAValue]) -> int:
        """When rows of all values are there."""
        return max(map(self._arrival, values), default=0)

    def _arrival(self, value: SSAValue) -> int:
        """An input of the network is there from the beginning."""
        if not isinstance(value.owner, ComputeBatchOp):
            return 0
        return self._ends[value.owner] + self._transfers.of(value).usual_cycles
