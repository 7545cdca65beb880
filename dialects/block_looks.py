"""Looks at blocks of ops without regions, as which most ops of a program come: the bodies of batches.

Whoever watches a pipeline has to go through all of them behind every pass, though most passes leave most of them alone,
and the parts of a layer have equal ones. So a block is looked at once for all who ask, and what is equal has one
:class:`BlockForm`, under which each keeps what it has found.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Sequence
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, cast
from weakref import WeakValueDictionary

from xdsl.ir import Attribute, Block, Operation, SSAValue

from .block_ops import block_ops

if TYPE_CHECKING:
    from .tile import ArrayAttr

_OPERANDS, _TYPE = attrgetter("_operands"), attrgetter("_type")
"""What is behind the properties `operands` and `type`, which take several times as long."""
_PARENT, _PROPERTIES, _RESULTS = attrgetter("parent"), attrgetter("properties"), attrgetter("results")
_REGIONS, _ATTRIBUTES, _SUCCESSORS = attrgetter("regions"), attrgetter("attributes"), attrgetter("successor_uses")
_LOCATION = attrgetter("location")


class BlockForm:
    """What blocks have in common that are the same but for the identity of ops and values, and the numbers in arrays:
    the classes of their ops, which of the block's values these read, names and values of their properties, types, and
    locations."""

    __slots__ = ("__weakref__", "_held", "array_names", "kinds")

    def __init__(self, kinds: tuple[type[Operation], ...], array_names: Sequence[str], held: Sequence[object]) -> None:
        self.kinds = kinds
        """Of the ops."""
        self.array_names = array_names
        """The properties that are arrays, in order of the ops."""
        self._held = held
        """What is known by its identity: no other may get one meanwhile."""


class BlockLook:
    """One look at a block. The next one is the same object, if the block then consists of the very same objects."""

    __slots__ = ("arrays", "block", "form", "ops", "parts", "value_count")

    def __init__(self, block: Block, ops: list[Operation]) -> None:
        self.block = block
        self.ops = ops
        self.form: BlockForm | None = None
        """None if more counts than is seen: regions, attributes and successors of ops, numbers that are not there, or
        ops that are linked in though another block is their parent."""
        self.arrays: Sequence[ArrayAttr] = ()
        """The properties that are arrays. What is written to the numbers of one is no change of the block."""
        self.value_count = len(block.args) + sum(map(len, map(_RESULTS, ops)))
        """Arguments, and results of the ops."""
        self.parts: tuple[object, ...] = ()
        """All that it consists of."""


class BlockLooks:
    """Looks at the blocks of a module that changes now and then."""

    def __init__(self) -> None:
        self._looks: dict[int, BlockLook] = {}
        """By the identity of each block, which is held meanwhile."""
        self._before: dict[int, BlockLook] = {}
        self._forms: WeakValueDictionary[Hashable, BlockForm] = WeakValueDictionary()

    def begin(self) -> None:
        """The module may have changed since the last look at it, of which only the blocks are still known."""
        if self._looks:
            self._before, self._looks = self._looks, {}

    def at(self, block: Block) -> BlockLook:
        """A look at ``block``, which has not changed since `begin` if it was looked at then."""
        found = self._looks.get(id(block))
        if found is None:
            found = self._looks[id(block)] = self._look(block)
        return found

    def _look(self, block: Block) -> BlockLook:
        ops = block_ops(block)
        is_plain = not (any(map(_REGIONS, ops)) or any(map(_ATTRIBUTES, ops)) or any(map(_SUCCESSORS, ops)))
        if not is_plain or list(map(_PARENT, ops)).count(block) < len(ops):
            return BlockLook(block, ops)
        arguments, results = block.args, list(map(_RESULTS, ops))
        operands, properties = list(map(_OPERANDS, ops)), list(map(_PROPERTIES, ops))
        types = list(map(_TYPE, chain(arguments, chain.from_iterable(results))))
        locations = list(map(_LOCATION, ops))
        parts = ops, arguments, operands, results, types, locations, properties
        before = self._before.get(id(block))
        if before is not None and before.form is not None and before.parts == parts:
            return before
        look = BlockLook(block, ops)
        look.parts = (*parts[:-1], list(map(dict, properties)))
        self._find_form(look, properties, operands, results, types, locations)
        return look

    def _find_form(
        self,
        look: BlockLook,
        properties: Sequence[dict[str, Attribute]],
        operands: Sequence[Sequence[SSAValue]],
        results: Sequence[Sequence[SSAValue]],
        types: Sequence[Attribute],
        locations: Sequence[Attribute],
    ) -> None:
        """The form of a look with these parts, and its arrays."""
        arguments = look.block.args
        places = map(id, chain(arguments, chain.from_iterable(results)))
        numbers = {value: number for number, value in enumerate(places)}
        read = [numbers.setdefault(value, len(numbers)) for value in map(id, chain.from_iterable(operands))]
        names = list(chain.from_iterable(properties))
        values = list(chain.from_iterable([one.values() for one in properties]))
        told: list[object] = [*map(id, values)]
        array_names: list[str] = []
        array_kind = array_class()
        if array_kind is not None and array_kind in set(map(type, values)):
            found = [place for place, value in enumerate(values) if type(value) is array_kind]
            look.arrays = arrays = cast("list[ArrayAttr]", [values[place] for place in found])
            if not all([array.has_data for array in arrays]):
                return
            array_names = [names[place] for place in found]
            for place, array in zip(found, arrays, strict=True):
                told[place] = (array.dtype.char, array.shape)
        kinds = tuple(map(type, look.ops))
        held = (*types, *locations)
        key = (
            len(arguments),
            kinds,
            tuple(read),
            tuple(names),
            tuple(told),
            tuple(map(id, held)),
            tuple(map(len, chain(properties, operands, results))),
        )
        form = self._forms.get(key)
        if form is None:
            form = self._forms[key] = BlockForm(kinds, array_names, (*held, *values))
        look.form = form


def array_class() -> type[ArrayAttr] | None:
    """The class of arrays; None as long as nothing can have any: it brings numpy, which takes its time to load."""
    module = sys.modules.get(_TILE)
    return None if module is None else module.ArrayAttr


_TILE = f"{__name__.rpartition('.')[0]}.tile"
