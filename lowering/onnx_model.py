"""Reads an `.onnx` file as what it is: input from anywhere. Whatever is wrong with it is one clear error.

External data is read only from regular files that lie, links resolved, inside the folder of the model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.inliner
from google.protobuf.message import DecodeError
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper

from ..dialects.tile import Array, element_type_of
from ..support.diagnostics import TileError
from .onnx_file import Bytes, ModelFile, opened_model

OLDEST_OPSET = 7
MAX_TENSOR_BYTES = 2**34
MAX_RANK = 32

DTYPES: dict[int, np.dtype[Any]] = {
    TensorProto.FLOAT: np.dtype("f4"),
    TensorProto.DOUBLE: np.dtype("f8"),
    TensorProto.FLOAT16: np.dtype("f2"),
    TensorProto.INT8: np.dtype("i1"),
    TensorProto.INT16: np.dtype("i2"),
    TensorProto.INT32: np.dtype("i4"),
    TensorProto.INT64: np.dtype("i8"),
    TensorProto.UINT8: np.dtype("u1"),
    TensorProto.UINT16: np.dtype("u2"),
    TensorProto.UINT32: np.dtype("u4"),
    TensorProto.UINT64: np.dtype("u8"),
    TensorProto.BOOL: np.dtype("?"),
}
"""The element types that the importer understands."""


@dataclass(frozen=True)
class OnnxModel:
    """A model that was read, with what the importer has to know to interpret its nodes."""

    where: str
    """What error messages call the model: its file name."""
    graph: GraphProto
    nodes: tuple[NodeProto, ...]
    """The nodes in an order in which each comes after those it reads from."""
    opset: int
    constants: dict[str, Array]
    """The initializers."""
    opsets: dict[str, int] = field(default_factory=dict[str, int])
    """The opset of each domain that the model imports; that of the standard operators is `ai.onnx`."""


def read_model(source: Path | bytes) -> OnnxModel:
    """Reads a model from a file, or from the content of one (which cannot have external data)."""
    with opened_model(source) as file:
        return model_in(file)


def model_in(file: ModelFile) -> OnnxModel:
    """The model in a file that is open."""
    where = file.where
    proto, large = _read_proto(file)
    opsets = {entry.domain or "ai.onnx": entry.version for entry in proto.opset_import}
    opset = _opset(where, opsets)
    graph = proto.graph
    if not all(isinstance(text, str) for text in _texts(graph)):
        raise TileError(where, "has names that are not UTF-8 text", "restore the complete file")
    if not graph.output:
        raise TileError(where, "has no outputs, so that nothing is computed", "export it with its outputs")
    if graph.sparse_initializer:
        raise TileError(where, "sparse initializers are not supported", "store them densely")
    constants: dict[str, Array] = {}
    for index, tensor in enumerate(graph.initializer):
        if tensor.name in constants:
            raise TileError(where, f"initializer {tensor.name!r} exists twice", "export the model again")
        what = f"initializer {tensor.name!r}"
        constants[tensor.name] = read_tensor(where, what, tensor, file.folder, large.pop(index, None))
        tensor.ClearField("raw_data")
    return OnnxModel(where, graph, _in_order(where, graph, constants), opset, constants, opsets)


def node_label(node: NodeProto) -> str:
    """The name of a node; of its first output if it has none."""
    return node.name or next((output for output in node.output if output), "") or node.op_type


def check_size(where: str, what: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Refuses tensors that no compiler run could hold, before anything is allocated."""
    if len(shape) > MAX_RANK:
        raise TileError(where, f"{what} has {len(shape)} dimensions, at most {MAX_RANK} are supported", "reshape it")
    size = math.prod(shape) * dtype.itemsize
    if size > MAX_TENSOR_BYTES:
        text = "x".join(map(str, shape))
        raise TileError(
            where,
            f"{what} of shape {text} has {size} bytes, at most {MAX_TENSOR_BYTES} are supported",
            "make it smaller",
        )


# The file


def _read_proto(file: ModelFile) -> tuple[ModelProto, dict[int, Bytes]]:
    """The model, and by number the large initializers whose raw data is not in it."""
    if file.message is not None:
        try:
            model = _parse(file.where, bytes(file.message.content))
            if not model.functions and len(model.graph.initializer) == file.message.initializers:
                return model, file.raw_data()
        except TileError:
            pass  # Protobuf is the judge of it.
    return _inlined(file.where, _parse(file.where, file.content())), {}


def _parse(where: str, content: bytes) -> ModelProto:
    remedy = "give a complete .onnx file"
    if not content:
        raise TileError(where, "is empty", remedy)
    model = ModelProto()
    try:
        model.ParseFromString(content)
    except (DecodeError, ValueError, MemoryError) as error:
        raise TileError(
            where, f"is not an ONNX model, or damaged or truncated ({len(content)} bytes)", remedy
        ) from error
    if not model.ir_version or not model.HasField("graph"):
        raise TileError(where, "is not an ONNX model: it has no IR version or no graph", remedy)
    if model.ir_version > onnx.IR_VERSION:
        newest = f"has IR version {model.ir_version}, the installed onnx package knows {onnx.IR_VERSION} at most"
        raise TileError(where, newest, "update the onnx package")
    if not model.graph.node and not model.graph.output:
        raise TileError(where, "has an empty graph", remedy)
    return model


def _inlined(where: str, model: ModelProto) -> ModelProto:
    """The model without model-local functions."""
    if not model.functions:
        return model
    try:
        return onnx.inliner.inline_local_functions(model, convert_version=False)
    except Exception as error:
        raise TileError(where, f"its functions cannot be inlined: {error}", "export it without functions") from error


def _opset(where: str, opsets: dict[str, int]) -> int:
    newest = onnx.defs.onnx_opset_version()
    opset = opsets.get("ai.onnx")
    if opset is None:
        raise TileError(where, "does not say which opset of ai.onnx it uses", "export it again")
    if not OLDEST_OPSET <= opset <= newest:
        remedy = "convert it with onnx.version_converter"
        raise TileError(where, f"has opset {opset}, opsets {OLDEST_OPSET} to {newest} are supported", remedy)
    return opset


def _texts(graph: GraphProto) -> Iterator[object]:
    """All that should be text; protobuf leaves bytes where they do not decode."""
    for node in graph.node:
        yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
        yield from (attribute.name for attribute in node.attribute)
    for value in (*graph.input, *graph.output):
        yield value.name
        yield from (dimension.dim_param for dimension in value.type.tensor_type.shape.dim)
    for tensor in graph.initializer:
        yield tensor.name
        yield from (text for entry in tensor.external_data for text in (entry.key, entry.value))


# Tensors


def read_tensor(
    where: str, what: str, tensor: TensorProto, folder: Path | None = None, raw_data: Bytes | None = None
) -> Array:
    """The numbers of a tensor, from ``raw_data`` if it has them."""
    dtype = DTYPES.get(tensor.data_type)
    if dtype is None:
        kinds = TensorProto.DataType
        known = tensor.data_type in kinds.values()
        name = kinds.Name(tensor.data_type) if known else str(tensor.data_type)  # pyright: ignore[reportArgumentType]
        raise TileError(where, f"{what} has elements of type {name}, which is not supported", "convert it to float")
    shape = tuple(tensor.dims)
    if any(extent < 0 for extent in shape):
        raise TileError(where, f"{what} has the shape {list(shape)}", "export the model again")
    check_size(where, what, shape, dtype)
    if tensor.data_location == TensorProto.EXTERNAL:
        return _external(where, what, tensor, dtype, folder)
    wrong = TileError(where, f"{what} does not hold the {math.prod(shape)} elements of its shape", "export it again")
    if raw_data is not None:
        if raw_data.nbytes != math.prod(shape) * dtype.itemsize:
            raise wrong
        found = raw_data.view(dtype.newbyteorder("<")).reshape(shape)
        found.flags.writeable = False
        return found
    try:
        array: Array = numpy_helper.to_array(tensor)
    except (ValueError, TypeError, OverflowError) as error:
        raise wrong from error
    assert element_type_of(array.dtype) is not None
    return array


def _external(where: str, what: str, tensor: TensorProto, dtype: np.dtype[Any], folder: Path | None) -> Array:
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    if folder is None:
        raise TileError(where, f"{what} is in the external file {location!r}", "read the model from its file")
    path = _inside(where, what, folder, location)
    needed = math.prod(tensor.dims) * dtype.itemsize
    try:
        offset, length = int(entries.get("offset", 0)), int(entries.get("length", needed))
    except ValueError:
        raise TileError(where, f"{what} has an offset or a length that is no number", "export it again") from None
    size = path.stat().st_size
    if length != needed:
        raise TileError(where, f"{what} needs {needed} bytes, its external data has {length}", "export it again")
    if offset < 0 or offset + length > size:
        span = f"bytes {offset} to {offset + length} of {location!r}, which has {size}"
        raise TileError(where, f"{what} is at {span}", "restore the complete file")
    array = np.fromfile(path, dtype.newbyteorder("<"), math.prod(tensor.dims), offset=offset)
    return array.reshape(tuple(tensor.dims))


def _inside(where: str, what: str, folder: Path, location: str) -> Path:
    """The file at ``location``; an error if it is not a regular file inside ``folder``, with links resolved."""
    remedy = "keep external data beside the model, named by a relative path"
    root = folder.resolve()
    try:
        path = (root / location).resolve()
        escapes = not location or Path(location).is_absolute() or not path.is_relative_to(root)
        regular = not escapes and path.is_file()
    except (OSError, ValueError, RuntimeError):
        raise TileError(where, f"{what} has the external path {location!r}, which is no path", remedy) from None
    if escapes:
        raise TileError(where, f"{what} has the external path {location!r}, outside the model's folder", remedy)
    if not regular:
        raise TileError(where, f"{what} has its data in {location!r}, which is not a file there", remedy)
    return path


# The graph


def _in_order(where: str, graph: GraphProto, constants: dict[str, Array]) -> tuple[NodeProto, ...]:
    """The nodes, each after those it reads from; stable, so that a sorted graph stays as it is."""
    producer: dict[str, int] = {}
    given = {value.name for value in graph.input} | set(constants)
    for index, node in enumerate(graph.node):
        for output in node.output:
            if output in producer or output in given:
                label = node_label(node)
                raise TileError(f"{where}: node {label!r}", f"value {output!r} is produced twice", "export it again")
            if output:
                producer[output] = index
    for node in graph.node:
        for name in node.input:
            if name and name not in producer and name not in given:
                what = f"reads {name!r}, which nothing produces"
                raise TileError(f"{where}: node {node_label(node)!r}", what, "restore the complete file")
    listed: set[str] = set()
    for value in graph.output:
        if value.name in listed:
            raise TileError(where, f"output {value.name!r} is listed twice", "list each output once")
        listed.add(value.name)
        if value.name not in producer and value.name not in given:
            raise TileError(where, f"output {value.name!r} is produced by nothing", "restore the complete file")

    sources = [sorted({producer[name] for name in node.input if name in producer}) for node in graph.node]
    order: list[int] = []
    done: set[int] = set()
    for root in range(len(sources)):
        # Depth first, without recursion: a network may be thousands of nodes deep.
        path = {} if root in done else {root: iter(sources[root])}
        while path:
            current = next(reversed(path))
            following = next((source for source in path[current] if source not in done), None)
            if following is None:
                del path[current]
                done.add(current)
                order.append(current)
            elif following in path:
                steps = list(path)
                names = [node_label(graph.node[i]) for i in reversed(steps[steps.index(following) :])]
                cycle = " -> ".join([*names[:8], names[0]])
                raise TileError(where, f"the graph has a cycle: {cycle}", "export it again")
            else:
                path[following] = iter(sources[following])
    return tuple(graph.node[index] for index in order)
