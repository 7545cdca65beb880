"""ONNX files: data in other files, and what files that are no models are answered with."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from onnx_graphs import RELU, model_of, refused, tensor
from tilec.lowering.onnx_importer import import_onnx
from tilec.support.diagnostics import TileError

# External data


def external_model(folder: Path, location: str, **entries: str) -> Path:
    model = model_of(
        [helper.make_node("Add", ["x", "w"], ["y"])], [tensor("x", [4])], constants={"w": np.ones(4, np.float32)}
    )
    (weights,) = model.graph.initializer
    weights.ClearField("raw_data")
    weights.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        weights.external_data.add(key=key, value=value)
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for a model, with data inside and data outside of it."""
    (tmp_path / "secret.bin").write_bytes(bytes(1000))
    folder = tmp_path / "model"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub/data.bin").write_bytes(bytes(8) + np.arange(4, dtype="<f4").tobytes())
    return folder


def test_external_data(folder: Path) -> None:
    module = import_onnx(external_model(folder, "sub/data.bin", offset="8", length="16"))
    assert "[0.0, 1.0, 2.0, 3.0]" in str(module)


def test_external_data_outside_the_folder(folder: Path) -> None:
    os.symlink("../secret.bin", folder / "link.bin")
    os.symlink("..", folder / "up")
    for location in (
        "../secret.bin",
        str(folder.parent / "secret.bin"),
        "link.bin",
        "up/secret.bin",
        "sub/../../secret.bin",
    ):
        text = refused(external_model(folder, location))
        assert "initializer 'w' has the external path" in text
        assert "outside the model's folder" in text


def test_link_inside_the_folder(folder: Path) -> None:
    os.symlink("sub/data.bin", folder / "link.bin")
    import_onnx(external_model(folder, "link.bin", offset="8"))


@pytest.mark.parametrize(
    ("location", "entries", "message"),
    [
        ("missing.bin", {}, "which is not a file there"),
        ("sub", {}, "which is not a file there"),
        ("", {}, "outside the model's folder"),
        (".", {}, "which is not a file there"),
        ("a\0b", {}, "is no path"),
        ("x" * 5000, {}, "is no path|not a file"),
        ("sub/data.bin", {"offset": "16"}, "bytes 16 to 32 of 'sub/data.bin', which has 24"),
        ("sub/data.bin", {"offset": "-8"}, "bytes -8 to 8"),
        ("sub/data.bin", {"length": "12"}, "needs 16 bytes, its external data has 12"),
        ("sub/data.bin", {"offset": "eight"}, "no number"),
    ],
)
def test_bad_external_data(folder: Path, location: str, entries: dict[str, str], message: str) -> None:
    with pytest.raises(TileError, match=message):
        import_onnx(external_model(folder, location, **entries))


def test_external_data_of_a_fifo(folder: Path) -> None:
    os.mkfifo(folder / "pipe.bin")
    assert "not a file there" in refused(external_model(folder, "pipe.bin"))


def test_external_data_without_a_folder(folder: Path) -> None:
    assert "read the model from its file" in refused(external_model(folder, "sub/data.bin").read_bytes())


# Files that are no models


def test_missing_file(tmp_path: Path) -> None:
    assert "does not exist" in refused(tmp_path / "missing.onnx")
    assert "is not a regular file" in refused(tmp_path)


@pytest.mark.parametrize(
    "content", [b"\xff\xff\xff", b"hello, this is a text\n" * 9, os.urandom(64) + b"\xff" * 64, bytes(100)]
)
def test_no_protobuf(content: bytes) -> None:
    assert "is not an ONNX model" in refused(content)


def test_empty() -> None:
    assert "<model>: is empty; give a complete .onnx file" in refused(b"")
    assert "no IR version or no graph" in refused(onnx.ModelProto(ir_version=8))
    assert "no IR version or no graph" in refused(onnx.ModelProto(graph=onnx.GraphProto(name="g")))
    assert "empty graph" in refused(onnx.ModelProto(ir_version=8, graph=onnx.GraphProto(name="g")))


def test_no_outputs() -> None:
    assert "<model>: has no outputs, so that nothing is computed" in refused(model_of([RELU], outputs=[]))


def test_ir_version() -> None:
    model = model_of([RELU])
    model.ir_version = onnx.IR_VERSION + 1
    assert f"has IR version {onnx.IR_VERSION + 1}" in refused(model)


def test_no_opset() -> None:
    model = model_of([RELU])
    del model.opset_import[:]
    assert "which opset" in refused(model)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_truncated_or_damaged(data: st.DataObject) -> None:
    """Whatever happens to the bytes, the answer is a module or a TileError."""
    content = bytearray(SMALL)
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content)))]
    for _ in range(data.draw(st.integers(0, 4))):
        if content:
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(TileError):
        import_onnx(bytes(content)).verify()


SMALL = model_of(
    [
        helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Reshape", ["p", "shape"], ["f"]),
        helper.make_node("Gemm", ["f", "m", "b"], ["y"], transB=1, alpha=0.5),
    ],
    constants={
        "w": np.ones((2, 3, 3, 3), np.float32),
        "shape": np.array([1, -1]),
        "m": np.ones((5, 32), np.float32),
        "b": np.ones(5, np.float32),
    },
).SerializeToString()
