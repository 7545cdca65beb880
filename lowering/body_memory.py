"""The bodies of batches, kept from one look at a module to the next: most passes leave most bodies alone, and the parts
of a layer have equal ones.

A body is known by everything that it consists of: classes of ops, which of its values they read, names and values of
properties, types, locations. The values are known by their identity, and held meanwhile, so that no identity stands for
two. What they hold is immutable, but for the elements of arrays, which are compared themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar, cast

from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..analysis.proxies import UNNAMED
from ..dialects.location import node_name
from ..dialects.spat import PickOp
from ..dialects.tile import ArrayAttr
from .body_content import BodyContent, content_of

FoundT = TypeVar("FoundT")

NodeNames = dict[int, tuple[Attribute, str]]
"""By the identity of a location, which is held meanwhile, and does not change."""


class Body:
    """What equal bodies have in common."""

    def __init__(self, names: list[str], held: Sequence[object]) -> None:
        self.names = names
        """The node that each op comes from."""
        self._held = held
        self._found: dict[Hashable, Any] = {}

    def once(self, key: Hashable, compute: Callable[[], FoundT]) -> FoundT:
        """What ``compute`` finds on the ops of this body, or of an equal one, under a key of its own."""
        if key not in self._found:
            self._found[key] = compute()
        return cast("FoundT", self._found[key])


class TileBody(Body):
    """A body of tile ops."""

    def __init__(self, names: list[str], held: Sequence[object], content: BodyContent) -> None:
        super().__init__(names, held)
        self.content = content


class BodyMemory:
    """Bodies, of the module that was looked at last."""

    def __init__(self) -> None:
        self.names: NodeNames = {}
        """Of the locations of all modules that were looked at."""
        self._kept: dict[object, Body] = {}
        self._seen: dict[object, Body] = {}
        self._looks: dict[int, _TileLook] = {}
        """By the identity of each block, which is held meanwhile, the last look at it."""
        self._new_looks: dict[int, _TileLook] = {}

    def tile_body(self, block: Block, inputs: int, ops: Sequence[Operation]) -> TileBody:
        """The body of tile ops in ``block``, which consists of ``ops`` and whose first ``inputs`` arguments are
        windows.

        KeyError if it uses values from outside.
        """
        parts = _Parts.of(block, inputs, ops)
        last = self._looks.get(id(block))
        if last is None or not last.is_of(parts):
            last = _TileLook(parts)
            found = self._seen.get(last.key) or self._kept.get(last.key)
            if found is None:
                found = TileBody(node_names(ops, self.names), last.held, content_of(block.args, inputs, ops))
            assert isinstance(found, TileBody)
            last.body = found
        self._new_looks[id(block)] = last
        self._seen[last.key] = last.body
        return last.body

    def body(self, block: Block, ops: Sequence[Operation]) -> Body:
        """The body of instructions in ``block``, in whatever places their weights and their tiles are."""
        look = _Look(block.args, ops, placed=True)
        found = self._seen.get(look.key) or self._kept.get(look.key)
        if found is None:
            found = Body(node_names(ops, self.names), look.held)
        self._seen[look.key] = found
        return found

    def forget_others(self) -> None:
        """Ends a look at a module: bodies that were not in it are let go."""
        self._kept, self._seen = self._seen, {}
        self._looks, self._new_looks = self._new_looks, {}


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
_OPERANDS, _TYPE = attrgetter("_operands"), attrgetter("_type")
"""What is behind the properties `operands` and `type`, which take several times as long."""


_PLACES = frozenset(("groups", "addresses"))
"""Properties of instructions and tiles that differ between batches which do the same."""


class _Parts(NamedTuple):
    """A body of tile ops as it is now, part by part. Two of the same body mostly consist of the same objects, and are
    compared faster than a key is made."""

    block: Block
    inputs: int
    arguments: Sequence[SSAValue]
    ops: list[Operation]
    operands: list[tuple[SSAValue, ...]]
    results: list[Sequence[SSAValue]]
    types: list[Attribute]
    """Of arguments and results."""
    locations: list[Attribute]
    properties: list[dict[str, Attribute]]

    @staticmethod
    def of(block: Block, inputs: int, ops: Sequence[Operation]) -> _Parts:
        arguments, ops, results = block.args, list(ops), list(map(_RESULTS, ops))
        types = list(map(_TYPE, chain(arguments, chain.from_iterable(results))))
        columns = list(map(_LOCATION, ops)), list(map(_PROPERTIES, ops))
        return _Parts(block, inputs, arguments, ops, list(map(_OPERANDS, ops)), results, types, *columns)


class _Key:
    """A key that is hashed once."""

    __slots__ = ("_content", "_hash")

    def __init__(self, content: Hashable) -> None:
        self._content = content
        self._hash = hash(content)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._content == other._content


class _TileLook:
    """A look at a body of tile ops. What is found then holds for as long as nothing of it changes."""

    def __init__(self, parts: _Parts) -> None:
        look = _Look(parts.arguments, parts.ops)
        self.key = _Key((parts.inputs, look.key))
        self.held = look.held
        self.body: TileBody
        self._parts = parts._replace(properties=list(map(dict, parts.properties)))
        self._picks = [op for op in parts.ops if type(op) is PickOp]
        self._tables = _tables(self._picks)

    def is_of(self, parts: _Parts) -> bool:
        """Whether the body is as it was."""
        return self._parts == parts and (not self._picks or self._tables == _tables(self._picks))


def _tables(ops: Sequence[Operation]) -> tuple[object, ...]:
    """The elements of the tables that tiles are picked by."""
    tables = [op.table for op in ops if type(op) is PickOp]
    return tuple([table.array.tobytes() if table.has_data else None for table in tables])


class _Look:
    """A body as it is now. Few steps here are Python's own, since every body is looked at behind every pass."""

    def __init__(self, arguments: Sequence[SSAValue], ops: Sequence[Operation], placed: bool = False) -> None:
        """``placed``: weights and tiles may have places. Those of weights are told apart, whichever they are; those of
        tiles make no difference."""
        properties = list(map(_PROPERTIES, ops))
        operands = list(map(_OPERANDS, ops))
        results = list(map(_RESULTS, ops))
        values = [*arguments, *chain.from_iterable(results)]
        numbers = {value: number for number, value in enumerate(map(id, values))}
        read = [numbers.setdefault(value, len(numbers)) for value in map(id, chain.from_iterable(operands))]
        kinds = tuple(map(type, ops))
        elements = _tables(ops) if PickOp in kinds else ()
        if placed:
            groups: dict[object, int] = {None: 0}
            found = [_elements(one["groups"]) if "groups" in one else None for one in properties]
            elements += tuple([groups.setdefault(one, len(groups)) for one in found])
            properties = [
                one if _PLACES.isdisjoint(one) else {k: v for k, v in one.items() if k not in _PLACES}
                for one in properties
            ]
        self.held: list[object] = list(map(_TYPE, values))
        self.held += chain.from_iterable([one.values() for one in properties])
        self.held += map(_LOCATION, ops)
        self.key: Hashable = (
            len(arguments),
            kinds,
            tuple(read),
            tuple(chain.from_iterable(properties)),
            tuple(map(id, self.held)),
            tuple(map(len, chain(properties, operands, results))),
            elements,
        )


def _elements(array: Attribute) -> object:
    assert isinstance(array, ArrayAttr)
    return array.array.tobytes() if array.has_data else array
