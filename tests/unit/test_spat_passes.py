"""The passes on the spat dialect keep what a program computes: against a plain interpreter of the dialect."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import spat_reference
from compilation import lower, module_text, parse_module, random_inputs, run_onnxruntime
from guard_programs import module_at
from hypothesis import given, settings
from hypothesis import strategies as st
from models import build as build_architecture
from numpy.typing import NDArray
from odd_models import MODELS, build
from tilec.analysis.window import RowWindow
from tilec.dialects import spat
from tilec.dialects.registry import make_context
from tilec.lowering.onnx_to_spat.batch_builder import BatchBuilder
from tilec.passes.spat_merge_graph import SpatMergeGraphPass
from tilec.passes.spat_schedule_peft import SpatSchedulePeftPass
from tilec.support.diagnostics import TileError
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

LAST = "spat-realize-communication"


def assert_close(found: Mapping[str, NDArray[Any]], expected: Mapping[str, NDArray[Any]]) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        scale = float(np.abs(value).max(initial=0)) or 1.0
        np.testing.assert_allclose(found[name], value, rtol=0, atol=2e-4 * scale, err_msg=name)


@pytest.mark.parametrize("name", MODELS)
def test_every_spat_pass_keeps_the_numbers(name: str) -> None:
    make, shape = MODELS[name]
    model = build(make, *shape)
    inputs = random_inputs(model)
    expected = run_onnxruntime(model, inputs)
    checked: list[str] = []

    def check(pass_name: str, module: ModuleOp) -> None:
        if any(isinstance(op, spat.OutputOp) for op in module.walk()):
            assert_close(spat_reference.interpret(module, inputs), expected)
            checked.append(pass_name)

    lower(model, "reference144", after_pass=check)
    assert checked[0] == "convert-onnx-to-spat"
    assert checked[-1] == LAST


def test_a_network() -> None:
    model = build_architecture("shufflenet_v1", image_size=32, num_classes=10)
    inputs = random_inputs(model)
    results: dict[str, Mapping[str, NDArray[Any]]] = {}

    def check(name: str, module: ModuleOp) -> None:
        if name in ("convert-onnx-to-spat", "spat-merge-trivial"):
            results[name] = spat_reference.interpret(module, inputs)

    lower(model, after_pass=check)
    expected = run_onnxruntime(model, inputs)
    for found in results.values():
        assert_close(found, expected)


# Random graphs of batches


@st.composite
def graphs(draw: st.DrawFn) -> str:
    """Batches that read their own row, or several rows, of one or two earlier values, with and without weights."""
    lanes, columns, channels = draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    source = spat.InputOp("x", (1, channels, lanes, columns), spat.tile_type(lanes, columns, channels))
    ops: list[Operation] = [source]
    values: list[SSAValue] = [source.result]
    random = np.random.default_rng(draw(st.integers(0, 5)))
    own_row = RowWindow(lanes, lanes)
    for _ in range(draw(st.integers(1, 7))):
        builder = BatchBuilder(lanes, source, draw(st.integers(1, lanes)))
        tiles: list[SSAValue] = []
        for value in draw(st.lists(st.sampled_from(values[-3:]), min_size=1, max_size=2)):
            if draw(st.integers(0, 3)):
                tiles.append(builder.input_tile(value, own_row))
            else:
                wide = draw(st.booleans())
                rows = builder.input(value, RowWindow(lanes, lanes, rows=3, pad_top=1) if wide else own_row)
                tiles.append(builder.apply(spat.ReduceRowsOp("max", rows)))
        tile = tiles[0] if len(tiles) == 1 else builder.apply(spat.VSubOp(*tiles))
        match draw(st.sampled_from(["relu", "product", "bias", "table"])):
            case "product":
                weights = random.normal(size=(channels, channels)).astype(np.float32)
                tile = builder.apply(spat.VMMOp(tile, builder.weight(weights), 0))
            case "bias":
                bias = random.normal(size=(1, channels)).astype(np.float32)
                tile = builder.apply(spat.VAddOp(tile, builder.weight(bias)))
            case "table":
                stack = builder.weight(random.normal(size=(2, columns, channels)).astype(np.float32))
                picked = builder.apply(spat.PickOp(stack, np.arange(lanes, dtype=np.int32) % 2))
                tile = builder.apply(spat.VMulOp(tile, picked))
            case _:
                tile = builder.apply(spat.ReluOp(tile))
        results = [tile] if draw(st.booleans()) or tiles[0] is tile else [tile, tiles[0]]
        emitted = builder.finish(*results)[0]
        ops += emitted
        values += emitted[-1].results
    used = [value for value in values[1:] if not value.uses or draw(st.integers(0, 3)) == 0]
    for index, value in enumerate(used):
        every = [np.arange(channels, dtype=np.int32)]
        ops.append(spat.OutputOp(f"y{index}", (1, channels, lanes, columns), every, [value]))
    module = ModuleOp([FuncOp("main", ((), ()), Region(Block([*ops, ReturnOp()])))])
    module.verify()
    return module_text(module)


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_merging_random_graphs(text: str) -> None:
    module = parse_module(text)
    source = next(op for op in module.walk() if isinstance(op, spat.InputOp))
    inputs = {"x": np.random.default_rng(1).normal(size=source.logical_shape).astype(np.float32)}
    expected = spat_reference.interpret(module, inputs)
    before = sum(isinstance(op, spat.BatchOp) for op in module.walk())
    SpatMergeGraphPass().apply(make_context(), module)
    module.verify()
    after = sum(isinstance(op, spat.BatchOp) for op in module.walk())
    assert after <= before
    assert_close(spat_reference.interpret(module, inputs), expected)


def test_programs_that_are_too_long_are_refused_before_they_are_scheduled(monkeypatch: pytest.MonkeyPatch) -> None:
    module = module_at("graph")
    monkeypatch.setattr("tilec.passes.spat_schedule_peft.MOST_INSTRUCTIONS", 100)
    monkeypatch.setattr("tilec.passes.spat_schedule_peft.schedule_spread", None)
    with pytest.raises(TileError) as caught:
        SpatSchedulePeftPass().apply(make_context(), module)
    begin = r"error: node '\S+': it takes \d+ instructions, the whole program \d+ in \d+ lanes, for which the compiler "
    assert re.match(begin + r"needs about 1 GiB of memory; at most 100 can be made; compile for", str(caught.value))
