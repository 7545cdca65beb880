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

import hashlib
import math
import zipfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
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

from ..support.diagnostics import TileError
from ..support.files import atomic_file

Array: TypeAlias = NDArray[Any]

DTYPES: dict[str, np.dtype[Any]] = {
    "f64": np.dtype("<f8"),
    "f32": np.dtype("<f4"),
    "f16": np.dtype("<f2"),
    "i64": np.dtype("<i8"),
    "i32": np.dtype("<i4"),
    "i16": np.dtype("<i2"),
    "i8": np.dtype("i1"),
    "u64": np.dtype("<u8"),
    "u32": np.dtype("<u4"),
    "u16": np.dtype("<u2"),
    "u8": np.dtype("u1"),
    "i1": np.dtype("?"),
}
"""The element types of an array, by the name that the text form uses."""

_DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}
_FLOAT_TYPES = {"f64": Float64Type(), "f32": Float32Type(), "f16": Float16Type()}
_ELEMENT_TYPES: dict[str, Attribute] = {
    name: _FLOAT_TYPES[name]
    if name in _FLOAT_TYPES
    else IntegerType(int(name[1:]), Signedness.UNSIGNED if name[0] == "u" else Signedness.SIGNLESS)
    for name in DTYPES
}
_DTYPES_BY_TYPE = {element: DTYPES[name] for name, element in _ELEMENT_TYPES.items()}

MAX_RANK = 32
MAX_SPLAT_BYTES = 2**31
DEFAULT_INLINE_LIMIT = 64

_inline_limit: ContextVar[int] = ContextVar("tile_array_inline_limit", default=DEFAULT_INLINE_LIMIT)

_resources: dict[str, Array] = {}
"""Arrays loaded from `.npz` files. The key is the digest of the content, so no two modules can disagree about one."""


def dtype_of(element_type: Attribute) -> np.dtype[Any] | None:
    """The numpy type of an MLIR element type, or None if a `#tile.array` cannot hold it."""
    return _DTYPES_BY_TYPE.get(element_type)


def element_type_of(dtype: np.dtype[Any]) -> Attribute | None:
    """The MLIR element type of a numpy type, or None if a `#tile.array` cannot hold it."""
    name = _DTYPE_NAMES.get(dtype.newbyteorder("<"))
    return None if name is None else _ELEMENT_TYPES[name]


@contextmanager
def inline_limit(elements: int) -> Generator[None]:
    """Within the context, arrays of up to ``elements`` elements print in full (`--elide-larger-than`)."""
    token = _inline_limit.set(elements)
    try:
        yield
    finally:
        _inline_limit.reset(token)


class ArrayData:
    """What an :class:`ArrayAttr` holds: element type, shape, and the numbers or at least their digest."""

    __slots__ = ("_array", "_digest", "dtype", "shape")

    def __init__(self, dtype: np.dtype[Any], shape: tuple[int, ...], array: Array | None, digest: str | None) -> None:
        assert array is not None or digest is not None
        self.dtype = dtype
        self.shape = shape
        self._array = array
        self._digest = digest

    @staticmethod
    def of(array: Array) -> ArrayData:
        """Wraps a read-only view of ``array``; copies only what is not contiguous or not little-endian."""
        dtype = array.dtype.newbyteorder("<")
        assert dtype in _DTYPE_NAMES, f"#tile.array cannot hold elements of type {array.dtype}"
        view = np.ascontiguousarray(array, dtype).reshape(array.shape).view()
        view.flags.writeable = False
        return ArrayData(dtype, array.shape, view, None)

    @property
    def array(self) -> Array:
        if self._array is None:
            assert self._digest is not None
            self._array = _loaded(self._digest, self.dtype, self.shape)
        return self._array

    @property
    def has_data(self) -> bool:
        return self._array is not None or _describes(_resources.get(self.digest), self.dtype, self.shape)

    @property
    def digest(self) -> str:
        if self._digest is None:
            assert self._array is not None
            self._digest = _digest(self._array)
        return self._digest

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, ArrayData) or self.dtype != other.dtype or self.shape != other.shape:
            return False
        return (self._array is not None and self._array is other._array) or self.digest == other.digest

    def __hash__(self) -> int:
        return hash((self.dtype, self.shape, self.digest))

    def __repr__(self) -> str:
        return f"ArrayData({_DTYPE_NAMES[self.dtype]}{list(self.shape)}, {self.digest})"


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
        cls, attr: Array | ArrayData | Self
    ) -> Self:
        """Wraps an array without copying it; an existing attribute is returned as it is."""
        if isinstance(attr, cls):
            return attr
        assert isinstance(attr, np.ndarray | ArrayData)
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
        return _ELEMENT_TYPES[_DTYPE_NAMES[self.dtype]]

    @property
    def tensor_type(self) -> TensorType[Attribute]:
        """The type of an SSA value that holds this array."""
        return TensorType(self.element_type, self.shape)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ArrayData:
        with parser.in_angle_brackets():
            return _parse(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            _print(printer, self.data)


Tile = Dialect("tile", [], [ArrayAttr])


# Resources


def load_resources(path: Path) -> None:
    """Makes the arrays of an `.npz` file available to every `#tile.array` that names them by digest."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            loaded: dict[str, Array] = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, AttributeError, TypeError) as error:
        raise TileError(str(path), f"cannot read resources: {error}", "give the .npz written with the text") from error
    for digest, array in loaded.items():
        if array.dtype not in _DTYPE_NAMES or _digest(array) != digest:
            raise TileError(str(path), f'the content of resource "{digest}" does not match its digest', "write it anew")
        array.flags.writeable = False
    _resources.update(loaded)


def save_resources(module: Operation, path: Path) -> None:
    """Writes the arrays of ``module`` that do not print in full to an `.npz` file, in order of digest."""
    arrays = collect_resources(module)
    with atomic_file(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
        for digest in sorted(arrays):
            # A fixed time stamp: the same module gives the same bytes.
            entry = zipfile.ZipInfo(f"{digest}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            with archive.open(entry, "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, arrays[digest], allow_pickle=False)


def collect_resources(module: Operation) -> dict[str, Array]:
    """The arrays in ``module`` whose text form names them by digest, at the inline limit in force."""
    found: dict[str, Array] = {}
    for op in module.walk():
        for attribute in (*op.properties.values(), *op.attributes.values()):
            for array in _arrays_in(attribute):
                if array.digest not in found and _spelling(array) == "digest":
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


def _loaded(digest: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    array = _resources.get(digest)
    if array is None:
        raise TileError(f'array @"{digest}"', "the text names its data only by digest", "add --resources FILE.npz")
    if not _describes(array, dtype, shape):
        has, wants = (f"{_DTYPE_NAMES[d]}{list(s)}" for d, s in ((array.dtype, array.shape), (dtype, shape)))
        raise TileError(f'array @"{digest}"', f"the resource is {has}, the text says {wants}", "correct the text")
    return array


def _describes(array: Array | None, dtype: np.dtype[Any], shape: tuple[int, ...]) -> bool:
    return array is not None and array.dtype == dtype and array.shape == shape


def _digest(array: Array) -> str:
    header = f"{_DTYPE_NAMES[array.dtype]}{list(array.shape)}"
    state = hashlib.blake2b(header.encode(), digest_size=16)
    state.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return state.hexdigest()


# Text


def _spelling(data: ArrayData) -> str:
    """`digest`, `list` or `splat`: a function of the content and the limit, so that text is stable."""
    if not data.has_data:
        return "digest"
    size = math.prod(data.shape)
    if size > 1 and _is_splat(data.array):
        return "splat"
    return "list" if size <= _inline_limit.get() else "digest"


def _is_splat(array: Array) -> bool:
    elements = _bits(array)
    # The first elements settle the matter for nearly every array that is no splat.
    return bool((elements[:64] == elements[0]).all() and (elements == elements[0]).all())


def _bits(array: Array) -> Array:
    return array.reshape(-1).view(f"u{array.dtype.itemsize}")


def _print(printer: Printer, data: ArrayData) -> None:
    printer.print_string(_DTYPE_NAMES[data.dtype])
    with printer.in_square_brackets():
        printer.print_list(data.shape, printer.print_int)
    printer.print_string(" ")
    match _spelling(data):
        case "splat":
            printer.print_string(f"splat {_element_text(data.array.reshape(-1)[0])}")
        case "list":
            with printer.in_square_brackets():
                printer.print_list(data.array.reshape(-1), lambda element: printer.print_string(_element_text(element)))
        case _:
            printer.print_string(f'@"{data.digest}"')


def _element_text(element: Any) -> str:
    """The shortest text that parses back to the same bits."""
    match element.dtype.kind:
        case "b":
            return "true" if element else "false"
        case "f":
            return _float_text(element)
        case _:
            return str(element)


def _float_text(element: np.floating[Any]) -> str:
    if np.isnan(element):
        # Only the canonical NaN has a name; the others show their bits.
        bits = int(element.view(f"u{element.itemsize}"))
        return "nan" if bits == int(_nan(element.dtype).view(f"u{element.itemsize}")) else f"0x{bits:X}"
    if np.isinf(element):
        return "inf" if element > 0 else "-inf"
    magnitude = abs(float(element))
    if magnitude == 0 or 1e-4 <= magnitude < 1e16:
        return np.format_float_positional(element, unique=True, trim="0")
    return np.format_float_scientific(element, unique=True, trim="0")


def _nan(dtype: np.dtype[Any]) -> np.generic:
    return dtype.type(np.nan)


def _parse(parser: AttrParser) -> ArrayData:
    name = parser.parse_identifier(context_msg=" for the element type of an array")
    if name not in DTYPES:
        parser.raise_error(f"unknown element type '{name}' of an array; one of {', '.join(DTYPES)} expected")
    dtype = DTYPES[name]
    shape = tuple(
        parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False, allow_negative=False)
        )
    )
    if len(shape) > MAX_RANK or any(extent >= 2**63 for extent in shape):
        parser.raise_error(f"the shape of an array has at most {MAX_RANK} dimensions of less than 2^63 elements")
    size = math.prod(shape)

    digest = parser.parse_optional_symbol_name()
    if digest is not None:
        if not digest.data:
            parser.raise_error("empty digest of an array")
        return ArrayData(dtype, shape, None, digest.data)

    if parser.parse_optional_keyword("splat") is not None:
        if size * dtype.itemsize > MAX_SPLAT_BYTES:
            parser.raise_error(f"a splat of {size} elements is larger than {MAX_SPLAT_BYTES} bytes")
        return ArrayData.of(np.full(shape, _parse_element(parser, dtype), dtype))

    elements = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_element(parser, dtype))
    if len(elements) != size:
        parser.raise_error(f"array of shape {list(shape)} has {size} elements, {len(elements)} given")
    return ArrayData.of(np.array(elements, dtype).reshape(shape))


def _parse_element(parser: AttrParser, dtype: np.dtype[Any]) -> np.generic:
    start = parser.pos
    if dtype.kind == "b":
        return np.bool_(parser.parse_boolean())
    if dtype.kind == "f":
        return _parse_float(parser, dtype)
    value = parser.parse_integer(allow_boolean=False)
    limits = np.iinfo(dtype)
    if not limits.min <= value <= limits.max:
        parser.raise_error(f"{value} does not fit into {_DTYPE_NAMES[dtype]}", start, parser.pos)
    return dtype.type(value)


def _parse_float(parser: AttrParser, dtype: np.dtype[Any]) -> np.generic:
    negative = parser.parse_optional_punctuation("-") is not None
    sign = -1.0 if negative else 1.0
    if parser.parse_optional_keyword("inf") is not None:
        return dtype.type(sign * math.inf)
    if parser.parse_optional_keyword("nan") is not None:
        return _nan(dtype)
    start = parser.pos
    value = parser.parse_number(allow_boolean=False)
    if parser.lexer.input.slice(start, start + 2) == "0x":
        if not 0 <= int(value) < 2 ** (8 * dtype.itemsize):
            parser.raise_error(f"bit pattern does not fit into {_DTYPE_NAMES[dtype]}", start, parser.pos)
        return np.dtype(f"u{dtype.itemsize}").type(int(value)).view(dtype)
    with np.errstate(over="ignore"):
        return dtype.type(sign * value)
