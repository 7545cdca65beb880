"""Whole networks from ONNX to the functional simulator: they give onnxruntime's numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from compilation import check_model, compile_model, run_onnxruntime, simulate
from models import ARCHITECTURES, SMALLEST, build

EXAMPLES = Path(__file__).parents[2] / "examples"

SLOW = {
    *("densenet121", "efficientnet_b0", "googlenet_bn", "inception_v3"),
    *("regnet_x_1_6gf", "regnet_x_400mf", "resnet34"),
}
"""Architectures whose layers another one, or a model of `odd_models`, has too."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in ARCHITECTURES]
)
def test_architecture(name: str) -> None:
    check_model(build(name, image_size=SMALLEST.get(name, 32), num_classes=10))


@pytest.mark.slow
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_larger_architecture(name: str) -> None:
    check_model(build(name, image_size=96, num_classes=100, seed=1))


@pytest.mark.parametrize("machine", ["reference144", "tiny4"])
def test_digits(machine: str) -> None:
    check_model(onnx.load(EXAMPLES / "digits_cnn.onnx"), machine=machine)


@pytest.mark.parametrize("name", ["mnist_lenet5", "mnist_resnet8"])
def test_predictions(name: str) -> None:
    """All 200 bundled digits: onnxruntime's logits, predictions and accuracy."""
    model = onnx.load(EXAMPLES / f"{name}.onnx")
    digits = np.load(EXAMPLES / "mnist_test200.npz")
    images, labels = digits["x"], digits["y"]
    assert len(images) == len(labels) == 200
    found = simulate(compile_model(model), {"input": images[:, None]})["logits"][:, 0]
    expected = np.concatenate([run_onnxruntime(model, {"input": image[None]})["logits"] for image in images])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-3 * np.abs(expected).max())
    np.testing.assert_array_equal(found.argmax(axis=1), expected.argmax(axis=1))
    assert (found.argmax(axis=1) == labels).mean() > 0.95
