"""Blocks of ops without regions of which all ops were found valid."""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from ..dialects.block_looks import BlockForm, BlockLook
from ..dialects.traits import VerifiedWithin, is_within

_Place = tuple[BlockForm, type[Operation] | None]
"""The form of a block, and the class of the op around it, if that counts."""


class VerifiedBlocks:
    """What is in valid blocks, in the module that is being verified and in the one before."""

    def __init__(self) -> None:
        self._known: dict[_Place, list[object]] = {}
        self._before: dict[_Place, list[object]] = {}
        self._looks: set[BlockLook] = set()
        """At blocks with arrays, all of which were found valid."""
        self._looks_before: set[BlockLook] = set()

    def begin(self) -> None:
        """Before a module is verified."""
        self._before, self._known = self._known, {}
        self._looks_before, self._looks = self._looks, set()

    def end(self) -> None:
        """Behind that. What was not in this module is let go."""
        self._before, self._looks_before = {}, set()

    def known(self, look: BlockLook, around: type[Operation]) -> list[object] | None:
        """What is in a block in an op of the class ``around``, as it was given to `add` for it or an equal one. None if
        there was none, or one that was equal but for invalid arrays."""
        if look.form is None:
            return None
        place = _place(look.form, around)
        found = self._known.get(place) or self._before.get(place)
        if found is None or not self._has_valid_arrays(look):
            return None
        self._known[place] = found
        return found

    def add(self, look: BlockLook, around: type[Operation], content: list[object]) -> None:
        """Remembers a block whose ops were found valid."""
        if look.form is not None:
            self._known[_place(look.form, around)] = content
            if look.arrays:
                self._looks.add(look)

    def _has_valid_arrays(self, look: BlockLook) -> bool:
        """Whether arrays are as they have to be in the ops of a valid block of this form."""
        if not look.arrays or look in self._looks:
            return True
        if look not in self._looks_before and not all(map(_has_valid_arrays, look.ops)):
            return False
        self._looks.add(look)
        return True


def _has_valid_arrays(op: Operation) -> bool:
    if is_within(type(op)):
        try:
            VerifiedWithin.verify_arrays(op)
        except (VerifyException, ValueError):
            return False
    return True


def _place(form: BlockForm, around: type[Operation]) -> _Place:
    return form, around if any(map(is_within, form.kinds)) else None
