"""The bodies of batches, kept from one look at a module to the next: most passes leave most bodies alone, and the parts
of a layer have equal ones.

A body is known by the form of its block, and by the elements of arrays, which could be written to. All else is
immutable.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import cached_property
from typing import Any, TypeVar, cast

from xdsl.ir import Attribute, Operation

from ..analysis.proxies import UNNAMED
from ..dialects.block_looks import BlockForm, BlockLook
from ..dialects.location import node_name
from ..dialects.tile import ArrayAttr
from .body_content import BodyContent, content_of
from .body_costs import partial_results

FoundT = TypeVar("FoundT")

NodeNames = dict[int, tuple[Attribute, str]]
"""By the identity of a location, which is held meanwhile, and does not change."""


class Body:
    """What equal bodies have in common."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        """The node that each op comes from."""
        self._found: dict[Hashable, Any] = {}

    def once(self, key: Hashable, compute: Callable[[], FoundT]) -> FoundT:
        """What ``compute`` finds on the ops of this body, or of an equal one, under a key of its own."""
        if key not in self._found:
            self._found[key] = compute()
        return cast("FoundT", self._found[key])


class TileBody(Body):
    """A body of tile ops."""

    def __init__(self, names: list[str], content: BodyContent) -> None:
        super().__init__(names)
        self.content = content

    @cached_property
    def partial_results(self) -> tuple[bool, ...]:
        """Of each result, whether it is a sum of products of some slices."""
        return partial_results(self.content)


class BodyMemory:
    """Bodies, of the module that was looked at last."""

    def __init__(self) -> None:
        self.names: NodeNames = {}
        """Of the locations of all modules that were looked at."""
        self._kept: dict[Hashable, Body] = {}
        self._seen: dict[Hashable, Body] = {}
        self._places: dict[BlockForm, _Unplaced] = {}
        """Of bodies of instructions, what they are without places."""
        self._new_places: dict[BlockForm, _Unplaced] = {}

    def tile_body(self, look: BlockLook, inputs: int) -> TileBody:
        """The body of tile ops in the block that is looked at, whose first ``inputs`` arguments are windows.

        KeyError if it uses values from outside.
        """
        key = look.form, inputs, tuple(map(_elements, look.arrays))
        found = self._seen.get(key) or self._kept.get(key)
        if found is None or look.form is None:
            names = node_names(look.ops, self.names)
            found = TileBody(names, content_of(look.block.args, inputs, look.ops))
        assert isinstance(found, TileBody)
        self._seen[key] = found
        return found

    def body(self, look: BlockLook) -> Body:
        """The body of instructions in the block that is looked at, in whatever places their weights and their tiles
        are. Those of weights are told apart, whichever they are; those of tiles make no difference."""
        if look.form is None:
            return Body(node_names(look.ops, self.names))
        unplaced = self._places.get(look.form) or self._new_places.get(look.form)
        if unplaced is None:
            unplaced = _Unplaced(look)
        self._new_places[look.form] = unplaced
        numbers: dict[object, int] = {}
        arrays = [
            numbers.setdefault(_elements(one), len(numbers)) if name == _GROUPS else _elements(one)
            for name, one in zip(look.form.array_names, look.arrays, strict=True)
            if name != _ADDRESSES
        ]
        key = unplaced, tuple(arrays)
        found = self._seen.get(key) or self._kept.get(key)
        if found is None:
            found = Body(node_names(look.ops, self.names))
        self._seen[key] = found
        return found

    def forget_others(self) -> None:
        """Ends a look at a module: bodies that were not in it are let go."""
        self._kept, self._seen = self._seen, {}
        self._places, self._new_places = self._new_places, {}


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


_GROUPS, _ADDRESSES = "groups", "addresses"
"""Properties of instructions and of tiles that differ between batches which do the same."""


class _Unplaced:
    """The form of a body of instructions without the places of weights and tiles. Hashed once."""

    __slots__ = ("_content", "_form", "_hash")

    def __init__(self, look: BlockLook) -> None:
        numbers = {id(argument): number for number, argument in enumerate(look.block.args)}
        for op in look.ops:
            numbers.update((id(result), len(numbers)) for result in op.results)
        types = [value.type for value in (*look.block.args, *(result for op in look.ops for result in op.results))]
        content: list[object] = [len(look.block.args), *map(id, types)]
        for op in look.ops:
            read = [numbers.setdefault(id(operand), len(numbers)) for operand in op.operands]
            content.append((type(op), len(op.results), id(op.location), *read, _GROUPS in op.properties))
            content += [
                (name, one.dtype.char, one.shape) if type(one) is ArrayAttr else (name, id(one))
                for name, one in op.properties.items()
                if name not in (_GROUPS, _ADDRESSES)
            ]
        self._content = tuple(content)
        self._hash = hash(self._content)
        self._form = look.form
        """Holds all that is known by its identity here."""

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Unplaced) and self._content == other._content


def _elements(array: ArrayAttr) -> object:
    return array.array.tobytes() if array.has_data else array
