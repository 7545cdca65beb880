"""Reading models around protobuf: what comes out is what protobuf reads, whatever the file is like."""

from __future__ import annotations

import os
import threading
from io import BytesIO
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from tilec.lowering.onnx_file import read_ahead
from tilec.lowering.onnx_importer import import_onnx
from tilec.lowering.onnx_model import read_model
from tilec.lowering.onnx_wire import LEAST_BYTES, NotWireFormatError, without_raw_data
from tilec.support.diagnostics import TileError

DTYPES = ("float32", "float64", "float16", "int64", "int32", "int8", "uint8", "bool")


def model(*tensors: TensorProto) -> ModelProto:
    """One that adds a number to its input, with ``tensors`` that nobody reads."""
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
    one = numpy_helper.from_array(np.float32([1]), "one")
    graph = helper.make_graph([helper.make_node("Add", ["x", "one"], ["y"])], "net", [value], [result], [one, *tensors])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def tensor(name: str, dtype: str, size: int) -> TensorProto:
    numbers = np.random.default_rng(size).integers(0, 2 if dtype == "bool" else 100, size).astype(dtype)
    return numpy_helper.from_array(numbers.reshape(2, -1), name)


def message(number: int, value: bytes) -> bytes:
    """A field of bytes, by protobuf itself: of `TypeProto.denotation`, whose number is replaced."""
    text = onnx.TypeProto(denotation="").SerializeToString()
    assert text == b"\x32\x00"
    length = bytearray()
    count = len(value)
    while count > 127:
        length.append(count & 127 | 128)
        count >>= 7
    return bytes([number << 3 | 2]) + bytes(length) + bytes([count]) + value


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("as_file", [False, True])
def test_arrays_are_those_of_protobuf(dtype: str, as_file: bool, tmp_path: Path) -> None:
    tensors = [tensor(f"t{size}", dtype, size) for size in (2, 510, 4094, 4098, 20000, 20002)]
    content = model(*tensors).SerializeToString()
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    found = read_model(path if as_file else content).constants
    assert list(found) == ["one", *(one.name for one in tensors)]
    for one in tensors:
        expected = numpy_helper.to_array(one)
        assert found[one.name].dtype == expected.dtype
        assert np.array_equal(found[one.name], expected)
        assert found[one.name].flags.aligned
        assert not found[one.name].flags.writeable or found[one.name].nbytes < LEAST_BYTES


def test_a_model_that_is_read_ahead_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(model(tensor("t", "float32", 5000), tensor("u", "int8", 9000)).SerializeToString())
    with read_ahead(str(path)) as ahead:
        assert ahead is not None
        path.unlink()  # Only what is open counts.
        found = str(import_onnx(ahead))
    assert found == str(import_onnx(model(tensor("t", "float32", 5000), tensor("u", "int8", 9000)).SerializeToString()))


@pytest.mark.parametrize("name", ["none.onnx", "folder.onnx", "pipe.onnx", "text.mlir", "-"])
def test_what_is_no_file_of_a_model_is_not_read_ahead(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder.onnx").mkdir()
    os.mkfifo(tmp_path / "pipe.onnx")
    (tmp_path / "text.mlir").write_text("builtin.module {}")
    with read_ahead(str(tmp_path / name)) as ahead:
        assert ahead is None


def test_a_file_that_is_closed_is_not_read_on(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(model(tensor("t", "float32", 5000)).SerializeToString())
    before = threading.active_count()
    with read_ahead(str(path)) as ahead:
        pass
    assert ahead is not None
    assert threading.active_count() == before
    with pytest.raises(ValueError, match="closed file"):
        ahead.content()


def test_everything_but_large_raw_data_stays_in_the_message() -> None:
    given = model(tensor("small", "float32", 10), tensor("large", "float32", 5000), tensor("other", "float32", 6000))
    content = given.SerializeToString()
    found = without_raw_data(BytesIO(content))
    assert found.initializers == 4
    assert {index: length for index, (_, length) in found.raw_data.items()} == {2: 20000, 3: 24000}
    for index, (start, length) in found.raw_data.items():
        assert content[start : start + length] == given.graph.initializer[index].raw_data
        given.graph.initializer[index].ClearField("raw_data")
    assert ModelProto.FromString(bytes(found.content)) == given


def test_a_graph_in_two_parts_is_one() -> None:
    """Protobuf joins messages that come twice."""
    extra = message(7, message(5, tensor("late", "float32", 5000).SerializeToString()))
    content = model(tensor("early", "float32", 4000)).SerializeToString() + extra
    found = read_model(content).constants
    expected = {one.name: numpy_helper.to_array(one) for one in ModelProto.FromString(content).graph.initializer}
    assert list(found) == list(expected) == ["one", "early", "late"]
    assert all(np.array_equal(found[name], expected[name]) for name in expected)


def test_of_raw_data_that_comes_twice_the_last_counts() -> None:
    one, other = tensor("t", "float32", 5000), np.arange(5000, dtype=np.float32)
    doubled = one.SerializeToString() + message(9, other.tobytes())
    content = model().SerializeToString() + message(7, message(5, doubled))
    with pytest.raises(NotWireFormatError):
        without_raw_data(BytesIO(content))
    assert np.array_equal(read_model(content).constants["t"], other.reshape(2, -1))


@pytest.mark.parametrize("change", [-4, 4])
def test_raw_data_of_another_size_is_an_error(change: int) -> None:
    wrong = tensor("t", "float32", 5000)
    wrong.raw_data = wrong.raw_data[:change] if change < 0 else wrong.raw_data + bytes(change)
    with pytest.raises(TileError, match="initializer 't' does not hold the 5000 elements of its shape"):
        read_model(model(wrong).SerializeToString())


def test_damaged_files_are_judged_by_protobuf() -> None:
    content = model(tensor("t", "float32", 5000)).SerializeToString()
    for cut in (1, 10, 100, 10000, len(content) - 1):
        with pytest.raises(TileError, match=rf"is not an ONNX model, or damaged or truncated \({cut} bytes\)"):
            read_model(content[:cut])
    for wrong in (b"\x3b", b"\xff" * 11, b"\x3a\xff\xff\xff\xff\x0f"):
        with pytest.raises(NotWireFormatError):
            without_raw_data(BytesIO(wrong))
