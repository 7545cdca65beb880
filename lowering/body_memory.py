"""The contents of bodies, kept from one look at a module to the next: most passes leave most bodies alone.

A content is taken anew as soon as anything that it was taken from is another object: an op, an operand, the name or
value of a property, a type, a location. All of that is held meanwhile, so that no identity stands for two. What these
objects hold is immutable, but for the elements of arrays, which are compared themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain
from operator import attrgetter

from xdsl.ir import Attribute, Block, Operation

from ..analysis.proxies import UNNAMED
from ..dialects.location import node_name
from ..dialects.spat import PickOp
from .body_content import BodyContent, content_of


NodeNames = dict[int, tuple[Attribute, str]]
"""By the identity of a location, which is held meanwhile, and does not change."""


class Body:
    """The body of a batch, as it was when it was looked at."""

    def __init__(self, ops: Sequence[Operation], content: BodyContent, state: list[object]) -> None:
        self.ops = ops
        self.content = content
        self.state = state

    @cached_property
    def names(self) -> list[str]:
        """The node that each op comes from."""
        return node_names(self.ops)


class BodyMemory:
    """Bodies by block, of the module that was looked at last."""

    def __init__(self) -> None:
        self._kept: dict[Block, Body] = {}
        self._seen: dict[Block, Body] = {}

    def body(self, block: Block, inputs: int, ops: Sequence[Operation]) -> Body:
        """The body in ``block``, which consists of ``ops`` and whose first ``inputs`` arguments are windows."""
        state = _state(block, inputs, ops)
        found = self._kept.get(block)
        if found is None or found.state != state:
            found = Body(ops, content_of(block.args, inputs, ops), state)
        self._seen[block] = found
        return found

    def forget_others(self) -> None:
        """Ends a look at a module: bodies that were not in it are let go."""
        self._kept, self._seen = self._seen, {}


def node_names(ops: Iterable[Operation], known: NodeNames | None = None) -> list[str]:
    """The node that each op comes from. Ops share locations; what is ``known`` of some is added to."""
    known = {} if known is None else known
    found: list[str] = []
    for op in ops:
        location = op.location
        entry = known.get(id(location))
        if entry is None:
            entry = known[id(location)] = location, node_name(op) or UNNAMED
        found.append(entry[1])
    return found


_LOCATION, _PROPERTIES, _RESULTS = attrgetter("location"), attrgetter("properties"), attrgetter("results")
_OPERANDS = attrgetter("_operands")
"""The tuple behind `operands`, a view of it that takes several times as long to go through."""


def _state(block: Block, inputs: int, ops: Sequence[Operation]) -> list[object]:
    """All objects that a content and its names follow from, in order. Lists compare identities before anything else."""
    found: list[object] = [inputs, len(block.args), *block.args, *block.arg_types, *ops]
    found += map(_LOCATION, ops)
    found += map(_OPERANDS, ops)
    properties = list(map(_PROPERTIES, ops))
    found += map(len, properties)
    found += chain.from_iterable(properties)
    found += chain.from_iterable([one.values() for one in properties])
    found += map(_RESULTS, ops)
    found += [result.type for results in map(_RESULTS, ops) for result in results]
    found += [op.table.array.tobytes() if op.table.has_data else None for op in ops if type(op) is PickOp]
    return found
