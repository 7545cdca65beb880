"""Damaged IR: whatever is changed in the text between two passes, the answer is a result or a diagnostic."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from compilation import lower, module_text, parse_module, random_inputs, run_onnxruntime, simulate
from onnx import TensorProto, helper, numpy_helper
from tilec.codegen.build import build_package
from tilec.codegen.guarded import guard_package
from tilec.codegen.manifest import Origin
from tilec.codegen.package import Package
from tilec.codegen.stream_check import require_valid_stream
from tilec.dialects.registry import make_context
from tilec.lowering.plan_check import check_plan
from tilec.passes.guard import Guard
from tilec.passes.manager import PassManager, Verifier
from tilec.passes.pipeline import build_pipeline
from tilec.support.diagnostics import TileError
from xdsl.dialects.builtin import ModuleOp

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


SCHEDULE = re.compile(
    r"\b(cores|steps|spans|resumes|sends|fetches|needs|messages|at|rings|zeros|peak|rows|groups) "
    r"<[^>\[]*\[[^\]]*\] \[([^\]]*)\]"
)
"""A table of what the compiler decides, which may change nothing about the results."""


def damaged_schedule(text: str, draw: random.Random) -> str:
    """The text with one number of a table of what the compiler decides changed, or with such a table left out."""
    tables: dict[str, list[re.Match[str]]] = {}
    for table in SCHEDULE.finditer(text):
        tables.setdefault(table[1], []).append(table)
    table = draw.choice(tables[draw.choice(sorted(tables))])
    numbers = list(re.finditer(r"-?\d+", table[2]))
    if not numbers or draw.random() < 0.05:
        return text[: table.start()] + text[table.end() + 1 :]
    found = draw.choice(numbers)
    near = int(found.group()) + draw.choice((-64, -4, -2, -1, 1, 2, 4, 64))
    new = draw.choice(NUMBERS) if draw.random() < 0.4 else str(near)
    return text[: table.start(2) + found.start()] + new + text[table.start(2) + found.end() :]


def run_rest(text: str, stage: int) -> ModuleOp:
    """Runs the passes after ``stage`` as `tile-opt` does. Raises what they raise."""
    module = parse_module(text)
    PassManager(PASSES[stage + 1 :], (Guard(), Verifier())).run(make_context(), module)
    return module


def package_of(module: ModuleOp) -> Package:
    """The package of a lowered module, as `tile-compile` makes it of text."""
    check_plan(module)
    package = build_package(module, Origin("model"), {})
    require_valid_stream(package.program, package.weights, package.memory.size_bytes)
    return guard_package(Guard(), module, package, 0.0)


def require_clean(error: TileError, where: str) -> None:
    """Every error says where it is, and what is wrong in words of ours."""
    for line in str(error).splitlines():
        if not line.startswith(" "):
            assert re.match(r"error: \S.*: \S", line), f"{where}: {error}"
            assert not re.search(r"''|[A-Z]\w+Error", line), f"{where}: {error}"


def test_damaged_text_is_answered_with_a_result_or_a_diagnostic(stages: Sequence[str]) -> None:
    for seed in range(TRIES):
        draw = random.Random(seed)
        stage = draw.randrange(len(stages))
        text = damaged(stages[stage], draw)
        try:
            run_rest(text, stage)
        except TileError as error:
            require_clean(error, f"seed {seed} after {PASSES[stage].name}")
        except BaseException as error:
            raise AssertionError(f"seed {seed} after {PASSES[stage].name}:\n{text}") from error


def test_a_damaged_schedule_computes_the_same_or_is_refused(stages: Sequence[str]) -> None:
    model = small_network()
    inputs = random_inputs(model)
    expected = run_onnxruntime(model, inputs)["y"]
    scheduled = next(index for index, text in enumerate(stages) if " steps <" in text)
    refused = 0
    for seed in range(TRIES):
        draw = random.Random(f"schedule {seed}")
        # Half of them where no pass comes any more that would find out.
        stage = len(stages) - 1 if draw.random() < 0.5 else draw.randrange(scheduled, len(stages))
        text = damaged_schedule(stages[stage], draw)
        try:
            found = simulate(package_of(run_rest(text, stage)), inputs)["y"]
        except TileError as error:
            require_clean(error, f"seed {seed} after {PASSES[stage].name}")
            refused += 1
        except BaseException as error:
            raise AssertionError(f"seed {seed} after {PASSES[stage].name}:\n{text}") from error
        else:
            assert np.allclose(found, expected, atol=1e-4), f"seed {seed} after {PASSES[stage].name}:\n{text}"
    assert TRIES // 2 < refused < TRIES
