"""A cache of what blocks of ops without regions look like. Most ops of a program are in such blocks: bodies of batches.

The guard and the verifier have to go through all of them after every pass, although most passes leave most of them
alone, and the parts of a layer have equal ones. So a block is looked at once for all who ask. Equal blocks share one
:class:`BlockForm`, by which each observer keeps what it has found.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, MutableMapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, cast
from weakref import WeakValueDictionary

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from .block_ops import block_ops

if TYPE_CHECKING:
    from .tile import ArrayAttr

_PARTS = attrgetter(
    "_next_op", "parent", "_operands", "results", "location", "properties", "attributes", "regions", "_successors"
)
"""All that an op consists of besides its class. The fields behind properties are read directly, which takes a fraction
of the time."""

_TYPE = attrgetter("_type")

_Parts = tuple[
    Operation | None,
    Block | None,
    Sequence[SSAValue],
    Sequence[SSAValue],
    Attribute,
    dict[str, Attribute],
    dict[str, Attribute],
    Sequence[Region],
    Sequence[Block],
]


class BlockForm:
    """What equal blocks have in common: the classes of their ops, which of the block's values these read, names and
    values of their properties, types, and locations. Ops and values are told by position, arrays by type and shape."""

    __slots__ = ("__weakref__", "_held", "array_names", "kinds")

    def __init__(self, kinds: tuple[type[Operation], ...], array_names: Sequence[str], held: Sequence[object]) -> None:
        self.kinds = kinds
        """The classes of the ops."""
        self.array_names = array_names
        """The names of the properties that are arrays, in order of the ops."""
        self._held = held
        """What the form knows by identity, kept alive so that no other object gets the same one."""


class BlockLook:
    """What a block looked like. As long as it consists of the very same objects, later looks are this object."""

    __slots__ = ("_arguments", "_parts", "_types", "_values", "arrays", "block", "form", "ops")

    def __init__(self, block: Block) -> None:
        self.block = block
        self.ops = block_ops(block)
        self.form: BlockForm | None = None
        """None for a block that cannot be compared this way: with ops that have regions, attributes or successors, with
        arrays whose elements are not loaded, or with ops whose parent is another block."""
        self.arrays: Sequence[ArrayAttr] = ()
        """The properties that are arrays. Their elements do not count as part of the block."""
        self._arguments = block.args
        self._parts: list[_Parts] = list(map(_PARTS, self.ops))
        self._values = list(chain(self._arguments, chain.from_iterable([one[3] for one in self._parts])))
        self._types: list[Attribute] = list(map(_TYPE, self._values))

    @property
    def value_count(self) -> int:
        """Arguments, and results of the ops."""
        return len(self._values)

    def holds(self) -> bool:
        """Whether the block is as it was."""
        block, ops = self.block, self.ops
        return (
            block.first_op is (ops[0] if ops else None)
            and block.args == self._arguments
            and list(map(_PARTS, ops)) == self._parts
            and list(map(_TYPE, self._values)) == self._types
        )

    def find_form(self, forms: MutableMapping[Hashable, BlockForm]) -> None:
        """Looks for the form among those that are known of others, or adds it to them, and finds the arrays."""
        following, parents, operands, results, locations, properties, *others = zip(*self._parts, strict=True)
        if any(map(any, others)) or parents.count(self.block) < len(parents):
            return
        # What is in dictionaries may change.
        others[0] = ({},) * len(parents)
        copies = map(dict, properties)
        self._parts = list(zip(following, parents, operands, results, locations, copies, *others, strict=True))
        numbers = {value: number for number, value in enumerate(map(id, self._values))}
        read = [numbers.setdefault(value, len(numbers)) for value in map(id, chain.from_iterable(operands))]
        names = tuple(chain.from_iterable(properties))
        attributes = [*chain.from_iterable([one.values() for one in properties])]
        told: list[object] = [*map(id, attributes)]
        array_names: list[str] = []
        array_kind = array_class()
        if array_kind is not None and array_kind in set(map(type, attributes)):
            found = [place for place, one in enumerate(attributes) if type(one) is array_kind]
            self.arrays = arrays = cast("list[ArrayAttr]", [attributes[place] for place in found])
            if not all([array.has_data for array in arrays]):
                return
            array_names = [names[place] for place in found]
            for place, array in zip(found, arrays, strict=True):
                told[place] = (array.dtype.char, array.shape)
        kinds = tuple(map(type, self.ops))
        held = (*self._types, *locations)
        lengths = tuple(map(len, chain(properties, operands, results)))
        key = (len(self._arguments), kinds, tuple(read), names, tuple(told), tuple(map(id, held)), lengths)
        form = forms.get(key)
        if form is None:
            known = [one for one in attributes if type(one) is not array_kind]  # arrays are told by type and shape
            form = forms[key] = BlockForm(kinds, array_names, (*held, *known))
        self.form = form


class BlockLooks:
    """The looks at the blocks of a module that passes change."""

    def __init__(self) -> None:
        self._looks: dict[int, BlockLook] = {}
        """By the identity of each block, which is held meanwhile."""
        self._before: dict[int, BlockLook] = {}
        self._forms: WeakValueDictionary[Hashable, BlockForm] = WeakValueDictionary()

    def begin(self) -> None:
        """The module may have changed since: looks are from now on valid only if their block still is the same."""
        if self._looks:
            self._before, self._looks = self._looks, {}

    def forget(self) -> None:
        """Lets go of all blocks, and of everything in them."""
        self._before, self._looks = {}, {}

    def at(self, block: Block) -> BlockLook:
        """A look at ``block``, which has not changed since `begin` if it was looked at then."""
        found = self._looks.get(id(block))
        if found is None:
            found = self._looks[id(block)] = self._look(block)
        return found

    def _look(self, block: Block) -> BlockLook:
        before = self._before.get(id(block))
        if before is not None and before.form is not None and before.holds():
            return before
        look = BlockLook(block)
        if look.ops:
            look.find_form(self._forms)
        return look


def array_class() -> type[ArrayAttr] | None:
    """The class of `#tile.array`; None as long as its module is not loaded, so that no attribute can be one. Importing
    it here would load numpy, for tools that may not need it."""
    module = sys.modules.get(_TILE)
    return None if module is None else module.ArrayAttr


_TILE = f"{__name__.rpartition('.')[0]}.tile"
