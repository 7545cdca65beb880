"""Constraints on the types of values: tensors and buffers of f32 with a static shape of certain ranks.

Where they hold, verifiers and passes may take the shape of a value (:func:`shape_of`) apart without checking it first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from typing_extensions import TypeVar
from xdsl.dialects.builtin import MemRefType, ShapedType, TensorType, f32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AttrConstraint, IntConstraint, VerificationContext
from xdsl.utils.exceptions import VerifyException

MOST_ROWS = 1 << 24
"""Lanes have tables with a number for each."""

MOST_ELEMENTS = 1 << 36


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The static shape of a tensor or buffer."""
    type = value.type
    assert isinstance(type, ShapedType)
    return type.get_shape()


@dataclass(frozen=True)
class F32Shape(AttrConstraint[Attribute]):
    """Tensors, buffers or both, of f32, with one of the given ranks and no empty or unknown dimension."""

    ranks: tuple[int, ...]
    tensors: bool = True
    buffers: bool = False

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if not self._accepts(attr):
            kinds = " or ".join(name for name, given in (("tensor", self.tensors), ("buffer", self.buffers)) if given)
            ranks = " or ".join(map(str, self.ranks))
            raise VerifyException(f"a {kinds} of f32 with a static shape of rank {ranks} expected, not {attr}")
        if isinstance(attr, TensorType | MemRefType) and _is_too_large(*attr.get_shape()):
            raise VerifyException(
                f"{attr} is too large: {MOST_ROWS} rows and {MOST_ELEMENTS} elements at most expected"
            )

    def _accepts(self, attr: Attribute) -> bool:
        match attr:
            case TensorType():
                accepted = self.tensors
            case MemRefType():
                accepted = self.buffers
            case _:
                return False
        shape = attr.get_shape()
        return accepted and attr.get_element_type() == f32 and len(shape) in self.ranks and min(shape, default=1) > 0

    def mapping_type_vars(self, type_var_mapping: Mapping[TypeVar, AttrConstraint | IntConstraint]) -> F32Shape:
        return self


def _is_too_large(rows: int, *others: int) -> bool:
    return rows > MOST_ROWS or rows * math.prod(others) > MOST_ELEMENTS


TILE = F32Shape((2,))
"""Columns x channels."""

ROWS = F32Shape((3,))
"""Rows x columns x channels."""

TILE_OR_ROWS = F32Shape((2, 3))
