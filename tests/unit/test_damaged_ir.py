"""Damaged IR: whatever is changed in the text between two passes, the answer is a result or a diagnostic."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from compilation import lower, module_text, parse_module
from onnx import TensorProto, helper, numpy_helper
from tilec.dialects.registry import make_context
from tilec.passes.manager import PassManager, Verifier
from tilec.passes.pipeline import build_pipeline
from tilec.support.diagnostics import TileError

PASSES = build_pipeline("tile-default{machine=tiny4}")

NUMBERS = ("0", "-1", "1", "2", "7", "99999", "4294967296", "9223372036854775807", "99999999999999999999")

TRIES = 200


def small_network() -> onnx.ModelProto:
    """A convolution, a pool that reads its rows on another core, and a product over the whole image."""
    random_state = np.random.default_rng(0)
    weights = {
        "w": random_state.standard_normal((2, 1, 3, 3)).astype(np.float32),
        "m": random_state.standard_normal((8, 3)).astype(np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"], name="act"),
        helper.make_node("MaxPool", ["b"], ["c"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["c"], ["d"], name="flat"),
        helper.make_node("MatMul", ["d", "m"], ["y"], name="product"),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 4, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture(scope="module")
def stages() -> Sequence[str]:
    """The text after each pass of the default pipeline."""
    texts: list[str] = []
    lower(small_network(), "tiny4", after_pass=lambda _, module: texts.append(module_text(module)))
    return texts


def damaged(text: str, draw: random.Random) -> str:
    """The text with a number or a name changed, or with lines exchanged or deleted."""
    kind = draw.random()
    if kind < 0.6:
        found = draw.choice(list(re.finditer(r"(?<![a-z])-?\d+", text)))
        return text[: found.start()] + draw.choice(NUMBERS) + text[found.end() :]
    if kind < 0.75:
        found, other = (draw.choice(list(re.finditer(r"%\w+", text))) for _ in range(2))
        return text[: found.start()] + other.group() + text[found.end() :]
    lines = text.split("\n")
    one, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    if kind < 0.9:
        del lines[one]
    else:
        lines[one], lines[other] = lines[other], lines[one]
    return "\n".join(lines)


def run_rest(text: str, stage: int) -> None:
    """Runs the passes after ``stage`` as `tile-opt` does. Raises what they raise."""
    module = parse_module(text)
    PassManager(PASSES[stage + 1 :], (Verifier(),)).run(make_context(), module)


def test_damaged_text_is_answered_with_a_result_or_a_diagnostic(stages: Sequence[str]) -> None:
    for seed in range(TRIES):
        draw = random.Random(seed)
        stage = draw.randrange(len(stages))
        text = damaged(stages[stage], draw)
        try:
            run_rest(text, stage)
        except TileError:
            pass
        except BaseException as error:
            raise AssertionError(f"seed {seed} after {PASSES[stage].name}:\n{text}") from error
