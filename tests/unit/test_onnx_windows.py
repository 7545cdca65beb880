"""Convolutions and pools of every geometry, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from onnx_reference import assert_same, check_model, random_inputs, run_onnxruntime
from tilec.dialects.onnx import Window
from tilec.lowering.onnx_importer import import_onnx
from tilec.simulators.onnx_interpreter import interpret
from tilec.support.diagnostics import TileError
from xdsl.utils.exceptions import VerifyException

SIZES = st.integers(1, 9)
KERNELS = st.integers(1, 4)
STRIDES = st.integers(1, 3)


def single(
    kind: str, shape: tuple[int, ...], weights: np.ndarray | None, opset: int = 22, **attributes: Any
) -> onnx.ModelProto:
    inputs = ["x"] if weights is None else ["x", "w"]
    graph = helper.make_graph(
        [helper.make_node(kind, inputs, ["y"], **attributes)],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [] if weights is None else [numpy_helper.from_array(weights, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@st.composite
def geometries(draw: st.DrawFn, pad_below_kernel: bool) -> tuple[tuple[int, ...], dict[str, Any]]:
    """The spatial shape of an input, and attributes of a window over it."""
    rank = draw(st.integers(1, 2))
    kernel = draw(st.lists(KERNELS, min_size=rank, max_size=rank))
    attributes: dict[str, Any] = {"kernel_shape": kernel}
    if draw(st.booleans()):
        attributes["strides"] = draw(st.lists(STRIDES, min_size=rank, max_size=rank))
    if draw(st.booleans()):
        attributes["auto_pad"] = draw(st.sampled_from(["SAME_UPPER", "SAME_LOWER", "VALID"]))
        # onnxruntime computes negative pads for windows with gaps between them.
        strides = attributes.get("strides", [1] * rank)
        assume(all(k >= stride for k, stride in zip(kernel, strides, strict=True)))
    elif draw(st.booleans()):
        attributes["pads"] = [draw(st.integers(0, k - 1 if pad_below_kernel else 3)) for k in kernel * 2]
    return tuple(draw(st.lists(SIZES, min_size=rank, max_size=rank))), attributes


def positions(spatial: tuple[int, ...], attributes: dict[str, Any]) -> bool:
    """Whether every window of the geometry has room."""
    pads = attributes.get("pads", [0] * 2 * len(spatial))
    dilations = attributes.get("dilations", [1] * len(spatial))
    if attributes.get("auto_pad", "VALID") != "VALID":
        return True
    return all(
        (k - 1) * d < n + b + e
        for k, d, n, b, e in zip(
            attributes["kernel_shape"], dilations, spatial, pads[: len(spatial)], pads[len(spatial) :], strict=True
        )
    )


COMMON = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])


@COMMON
@given(
    geometries(pad_below_kernel=False), st.sampled_from([(1, 1), (2, 1), (1, 2), (2, 3)]), st.integers(1, 2), st.data()
)
def test_convolution(
    geometry: tuple[tuple[int, ...], dict[str, Any]], channels: tuple[int, int], group: int, data: st.DataObject
) -> None:
    spatial, attributes = geometry
    if "auto_pad" not in attributes:
        attributes["dilations"] = data.draw(st.lists(st.integers(1, 2), min_size=len(spatial), max_size=len(spatial)))
    assume(positions(spatial, attributes))
    random = np.random.default_rng(0)
    shape = (channels[1] * group, channels[0], *attributes["kernel_shape"])
    weights = random.standard_normal(shape).astype(np.float32)
    check_model(single("Conv", (2, channels[0] * group, *spatial), weights, group=group, **attributes))


@COMMON
@given(geometries(pad_below_kernel=True), st.sampled_from(["MaxPool", "AveragePool"]), st.booleans(), st.booleans())
def test_pool(geometry: tuple[tuple[int, ...], dict[str, Any]], kind: str, ceil: bool, include_pad: bool) -> None:
    spatial, attributes = geometry
    if ceil and "auto_pad" not in attributes:
        attributes["ceil_mode"] = 1
    if include_pad and kind == "AveragePool":
        attributes["count_include_pad"] = 1
    assume(positions(spatial, attributes))
    check_model(single(kind, (1, 2, *spatial), None, **attributes))


def test_dilated_max_pool() -> None:
    check_model(single("MaxPool", (1, 2, 9, 9), None, kernel_shape=[3, 2], dilations=[2, 3], strides=[2, 1]))


def test_pads_as_large_as_the_window_are_refused() -> None:
    model = single("MaxPool", (1, 2, 9, 9), None, kernel_shape=[2, 2], pads=[2, 2, 2, 2])
    with pytest.raises(TileError, match="are not smaller than the window"):
        import_onnx(model.SerializeToString())


@COMMON
@given(SIZES, KERNELS, STRIDES, st.integers(1, 2), st.integers(0, 3), st.integers(0, 3), st.booleans())
def test_positions_are_those_that_see_the_input(
    size: int, kernel: int, stride: int, dilation: int, begin: int, end: int, ceil: bool
) -> None:
    window = Window((kernel,), (stride,), (dilation,), (begin,), (end,))
    extent = (kernel - 1) * dilation + 1
    assume(max(begin, end) < extent)
    # Dumb: slide until the window leaves the padded input.
    starts = [start for start in range(-begin, size + end, stride) if start + extent <= size + end]
    if not starts:
        with pytest.raises(VerifyException, match="does not fit"):
            window.positions((size,), ceil)
        return
    # Rounding up admits one window that leaves it, if there is something left to see.
    if ceil and starts[-1] + extent < size + end and starts[-1] + stride < size:
        starts.append(starts[-1] + stride)
    assert window.positions((size,), ceil) == (len(starts),)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6])
def test_local_response_normalization(size: int) -> None:
    model = single("LRN", (2, 5, 3, 3), None, opset=13, size=size, alpha=0.5, beta=0.6, bias=1.5)
    inputs = random_inputs(model)
    x = inputs["x"]
    total = np.zeros_like(x)
    for channel in range(5):
        # The formula of the standard.
        first, last = max(0, channel - (size - 1) // 2), min(4, channel + -(-(size - 1) // 2))
        total[:, channel] = (x[:, first : last + 1] ** 2).sum(axis=1)
    actual = interpret(import_onnx(model.SerializeToString()), inputs)
    assert_same(actual, {"y": x / (1.5 + 0.5 / size * total) ** np.float32(0.6)})
    if size % 2:
        # onnxruntime knows odd sizes only.
        assert_same(actual, run_onnxruntime(model, inputs))
