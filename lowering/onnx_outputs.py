"""What an ONNX model says of its outputs, held against what it computes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from onnx import TensorShapeProto, ValueInfoProto
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from ..dialects.tile import element_type_of
from .onnx_model import DTYPES


def declaration_problems(
    value: ValueInfoProto, computed: TensorType[Attribute], dims: Mapping[str, int]
) -> Iterator[str]:
    """How the type that an output is declared with differs from the one ``computed``, with both of them.

    What a declaration leaves open fits everything; ``dims`` are the bound dimensions.
    """
    kind = value.type.WhichOneof("value")
    if kind is None:
        return
    if kind != "tensor_type":
        yield f"as a {kind.removesuffix('_type')}, and is a tensor"
        return
    declared = value.type.tensor_type
    if declared.HasField("shape"):
        extents = [_extent(dimension, dims) for dimension in declared.shape.dim]
        shape = list(computed.get_shape())
        fits = len(extents) == len(shape) and all(
            isinstance(extent, str) or extent == found for extent, found in zip(extents, shape, strict=True)
        )
        if not fits:
            yield f"with the shape {_shown(extents)}, and has {_shown(shape)}"
    if declared.elem_type:
        dtype, has = DTYPES.get(declared.elem_type), computed.get_element_type()
        expected = None if dtype is None else element_type_of(dtype)
        if expected != has:
            yield f"with elements of {expected or f'the unsupported type number {declared.elem_type}'}, and has {has}"


def _extent(dimension: TensorShapeProto.Dimension, dims: Mapping[str, int]) -> int | str:
    """What is declared of a dimension: its extent, or the name that it has; `?` if it has none."""
    if dimension.HasField("dim_value"):
        return dimension.dim_value
    return dims.get(dimension.dim_param, dimension.dim_param or "?")


def _shown(shape: list[int | str] | list[int]) -> str:
    return f"[{', '.join(map(str, shape))}]"
