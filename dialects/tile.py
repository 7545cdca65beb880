"""The `tile` dialect: one attribute, `#tile.array`, that every other dialect keeps its weights and tables in.

A `#tile.array` holds a read-only numpy array by reference. Copying, hashing or verifying a module never copies the
data; equality and hash come from the type, the shape and a digest of the bytes, computed once, when first asked for.

Three spellings, chosen by size alone, print and parse back to an equal attribute:

```mlir
#tile.array<f32[2, 2] [1.0, 2.0, -inf, nan]>
#tile.array<f32[64, 3, 7, 7] splat 0.0>
#tile.array<f32[64, 3, 7, 7] @"0f5e0c38c21b3bd8c5f5bd4ad4b6a5bd">
```

The last one names its data by digest; the data lies in an `.npz` file beside the text (:func:`save_resources`,
:func:`load_resources`). Text whose resources are not loaded still parses, verifies and prints back; only looking at the
numbers is an error.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr as BuiltinArrayAttr,
)
from xdsl.dialects.builtin import (
    DictionaryAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    Signedness,
    TensorType,
)
from xdsl.ir import Attribute, Data, Dialect, Operation, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ..support.files import atomic_file
from ..support.zip_file import NewZip, stored_entry
from .array_data import DTYPE_NAMES, DTYPES, ArrayData, load_resources
from .array_layout import Array, Rows, contiguous
from .array_text import DEFAULT_INLINE_LIMIT, inline_limit, parse_array, print_array, spelling

_FLOAT_TYPES = {"f64": Float64Type(), "f32": Float32Type(), "f16": Float16Type()}
_ELEMENT_TYPES: dict[str, Attribute] = {
    name: _FLOAT_TYPES[name]
    if name in _FLOAT_TYPES
    else IntegerType(int(name[1:]), Signedness.UNSIGNED if name[0] == "u" else Signedness.SIGNLESS)
    for name in DTYPES
}
_DTYPES_BY_TYPE = {element: DTYPES[name] for name, element in _ELEMENT_TYPES.items()}


def dtype_of(element_type: Attribute) -> np.dtype[Any] | None:
    """The numpy type of an MLIR element type, or None if a `#tile.array` cannot hold it."""
    return _DTYPES_BY_TYPE.get(element_type)


def element_type_of(dtype: np.dtype[Any]) -> Attribute | None:
    """The MLIR element type of a numpy type, or None if a `#tile.array` cannot hold it."""
    name = DTYPE_NAMES.get(dtype.newbyteorder("<"))
    return None if name is None else _ELEMENT_TYPES[name]


@irdl_attr_definition
class ArrayAttr(Data[ArrayData]):
    """A read-only numpy array held by reference (see the module's docstring for its spellings).

    ```mlir
    #tile.array<i64[3] [1, 2, 3]>
    ```
    """

    name = "tile.array"

    @classmethod
    # xDSL declares `attr` as `Data[ArrayData]` where it means `Self`.
    def get(  # pyright: ignore[reportIncompatibleMethodOverride]
        cls, attr: Array | Rows | ArrayData | Self
    ) -> Self:
        """Wraps an array without copying it; an existing attribute is returned as it is."""
        if isinstance(attr, cls):
            return attr
        assert isinstance(attr, np.ndarray | Rows | ArrayData)
        return cls.new(attr if isinstance(attr, ArrayData) else ArrayData.of(attr))

    @property
    def array(self) -> Array:
        """The numbers, read-only. A TileError if they are named by digest and no loaded resource has them."""
        return self.data.array

    @property
    def has_data(self) -> bool:
        """Whether `array` can be read."""
        return self.data.has_data

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.data.dtype

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.data.shape)

    @property
    def digest(self) -> str:
        """A hexadecimal digest of element type, shape and bytes."""
        return self.data.digest

    @property
    def element_type(self) -> Attribute:
        return _ELEMENT_TYPES[DTYPE_NAMES[self.dtype]]

    @property
    def tensor_type(self) -> TensorType[Attribute]:
        """The type of an SSA value that holds this array."""
        return TensorType(self.element_type, self.shape)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ArrayData:
        with parser.in_angle_brackets():
            return parse_array(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            print_array(printer, self.data)


Tile = Dialect("tile", [], [ArrayAttr])


# Resources


def save_resources(module: Operation, path: Path) -> None:
    """Writes the arrays of ``module`` that do not print in full to an `.npz` file, in order of digest."""
    with resources_writer(path) as resources:
        resources.add(collect_resources(module))


@contextmanager
def resources_writer(path: Path) -> Generator[ResourcesWriter]:
    """Takes the arrays of an `.npz` file, which is in its place when the context is left without an exception."""
    with atomic_file(path) as temporary, NewZip(temporary, "w", zipfile.ZIP_STORED) as archive:
        yield ResourcesWriter(archive)


class ResourcesWriter:
    """Writes arrays to an archive, each once."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._written: set[str] = set()

    def add(self, arrays: Mapping[str, Array]) -> None:
        """Writes those of ``arrays``, by digest, that are not there yet, in order of digest."""
        for digest in sorted(arrays.keys() - self._written):
            with self._archive.open(stored_entry(f"{digest}.npy"), "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, contiguous(arrays[digest]), allow_pickle=False)
            self._written.add(digest)


def collect_resources(module: Operation) -> dict[str, Array]:
    """The arrays in ``module`` whose text form names them by digest, at the inline limit in force."""
    found: dict[str, Array] = {}
    for op in module.walk():
        for attribute in (*op.properties.values(), *op.attributes.values()):
            for array in _arrays_in(attribute):
                if array.digest not in found and spelling(array) == "digest":
                    found[array.digest] = array.array
    return found


def _arrays_in(attribute: Attribute) -> Iterator[ArrayData]:
    match attribute:
        case ArrayAttr():
            yield attribute.data
        case BuiltinArrayAttr():
            for element in attribute:
                yield from _arrays_in(element)
        case DictionaryAttr():
            for element in attribute.data.values():
                yield from _arrays_in(element)
        case ParametrizedAttribute():
            for element in attribute.parameters:
                yield from _arrays_in(element)
        case _:
            pass


__all__ = [
    "DEFAULT_INLINE_LIMIT",
    "DTYPES",
    "Array",
    "ArrayAttr",
    "ArrayData",
    "ResourcesWriter",
    "Tile",
    "collect_resources",
    "dtype_of",
    "element_type_of",
    "inline_limit",
    "load_resources",
    "resources_writer",
    "save_resources",
]
