"""Random programs of the spat dialect compute on the functional simulator what the dialect says."""

from __future__ import annotations

import numpy as np
import pytest
import spat_reference
from compilation import module_text, package_of, parse_module, simulate
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tilec.analysis.machine import Precision
from tilec.analysis.window import RowWindow
from tilec.dialects import spat
from tilec.dialects.registry import make_context
from tilec.lowering.onnx_to_spat.batch_builder import BatchBuilder
from tilec.lowering.target import set_target
from tilec.passes.manager import PassManager, Verifier
from tilec.passes.pipeline import build_pipeline
from tilec.passes.registry import NAMED_PIPELINES
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

PIPELINE = NAMED_PIPELINES["tile-default"].partition("convert-onnx-to-spat,")[2]
UNARY = (spat.ReluOp, spat.TanhOp, spat.SigmoidOp)
BINARY = (spat.VAddOp, spat.VSubOp, spat.VMulOp, spat.VMaxOp)
LARGEST_TILE = 96


class BodyDraw:
    """Draws the ops of a lane's body."""

    def __init__(self, draw: st.DrawFn, builder: BatchBuilder, windows: list[SSAValue]) -> None:
        self.draw = draw
        self.builder = builder
        self.windows = windows
        self.tiles: list[SSAValue] = []
        self.random = np.random.default_rng(draw(st.integers(0, 9)))
        for window in windows:
            self.tiles.append(self.view(window))

    def number(self, least: int, most: int) -> int:
        return self.draw(st.integers(least, most))

    def tile(self) -> SSAValue:
        return self.draw(st.sampled_from(self.tiles))

    def constant(self, *shape: int) -> SSAValue:
        return self.builder.weight(self.random.normal(size=shape).astype(np.float32))

    def view(self, source: SSAValue) -> SSAValue:
        *rows, columns, channels = spat.shape_of(source)
        row = self.number(0, rows[0] - 1) if rows else 0
        total = columns * channels
        if self.draw(st.booleans()):
            return self.builder.apply(spat.ViewOp(source, row, 0, channels, columns, channels))
        length, step = self.number(1, total), self.number(0, channels + 2)
        start = self.number(0, total - length)
        most = (total - length - start) // step + 1 if step else 3
        return self.builder.apply(spat.ViewOp(source, row, start, step, self.number(1, min(most, 5)), length))

    def step(self) -> None:
        kind = self.draw(
            st.sampled_from(["view", "gather", "vmm", "unary", "binary", "constant", "rows", "columns", "channels",
                             "pad", "spread"])
        )  # fmt: skip
        made = self.op(kind)
        if made is not None and np.prod(spat.shape_of(made)) <= LARGEST_TILE:
            self.tiles.append(made)

    def op(self, kind: str) -> SSAValue | None:
        apply, x = self.builder.apply, self.tile()
        columns, channels = spat.shape_of(x)
        match kind:
            case "view":
                return self.view(self.draw(st.sampled_from([*self.windows, *self.tiles])))
            case "gather":
                parts = [tile for tile in self.tiles if spat.shape_of(tile)[0] == columns]
                return apply(spat.GatherOp([self.draw(st.sampled_from(parts)) for _ in range(self.number(1, 3))]))
            case "vmm":
                first = self.number(0, 2)
                matrix = self.constant(first + channels + self.number(0, 2), self.number(1, 4))
                return apply(spat.VMMOp(x, matrix, first))
            case "unary":
                return apply(self.draw(st.sampled_from(UNARY))(x))
            case "binary":
                fits = [t for t in self.tiles if all(r in (1, n) for r, n in zip(spat.shape_of(t), (columns, channels),
                                                                                 strict=True))]  # fmt: skip
                return apply(self.draw(st.sampled_from(BINARY))(x, self.draw(st.sampled_from(fits))))
            case "constant":
                shape = (self.draw(st.sampled_from([1, columns])), self.draw(st.sampled_from([1, channels])))
                left = shape == (columns, channels) and self.draw(st.booleans())
                y = self.constant(*shape)
                return apply(self.draw(st.sampled_from(BINARY))(*((y, x) if left else (x, y))))
            case "rows":
                return apply(spat.ReduceRowsOp(self.kind(), self.draw(st.sampled_from(self.windows))))
            case "columns":
                return apply(spat.ReduceColumnsOp(self.kind(), x))
            case "channels":
                return apply(spat.ReduceChannelsOp(self.kind(), x))
            case "pad":
                sides = (self.number(0, 2), self.number(0, 2))
                if self.draw(st.booleans()):
                    return apply(spat.PadOp(x, left=sides[0], right=sides[1]))
                return apply(spat.PadOp(x, before=sides[0], after=sides[1]))
            case _:
                return apply(spat.SpreadOp(x, self.number(1, 4))) if channels == 1 else None

    def kind(self) -> str:
        return self.draw(st.sampled_from(["add", "max"]))


def window_of(draw: st.DrawFn, height: int, lanes: int) -> RowWindow:
    edge = draw(st.sampled_from(["zero", "clamp"]))
    pads = (0, 0) if edge == "clamp" else (draw(st.integers(0, 2)), draw(st.integers(0, 2)))
    return RowWindow(height, lanes, draw(st.integers(1, 3)), draw(st.integers(0, 2)), draw(st.integers(1, 2)),
                     draw(st.integers(-1, 2)), *pads, edge)  # fmt: skip


@st.composite
def programs(draw: st.DrawFn) -> str:
    images, height = draw(st.integers(1, 2)), draw(st.integers(1, 3))
    columns, channels = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    source = spat.InputOp("x", (images, channels, height, columns), spat.tile_type(images * height, columns, channels))
    ops: list[Operation] = [source]
    values: list[SSAValue] = [source.result]
    for _ in range(draw(st.integers(1, 3))):
        lanes = draw(st.integers(1, 3))
        builder = BatchBuilder(images * lanes, source, draw(st.integers(1, images * lanes)))
        windows = [
            builder.input(value, window_of(draw, spat.shape_of(value)[0] // images, lanes))
            for value in draw(st.lists(st.sampled_from(values[-2:]), min_size=1, max_size=2))
        ]
        body = BodyDraw(draw, builder, windows)
        for _ in range(draw(st.integers(0, 6))):
            body.step()
        results = [body.tiles[-1], *draw(st.lists(st.sampled_from(body.tiles), max_size=1))]
        made = builder.finish(*results)[0]
        ops += made
        values += made[-1].results
    for index, value in enumerate(value for value in values[1:] if not value.uses):
        rows, width, depth = spat.shape_of(value)
        shape = (images, depth, rows // images, width)
        ops.append(spat.OutputOp(f"y{index}", shape, [np.arange(depth, dtype=np.int32)], [value]))
    module = ModuleOp([FuncOp("main", ((), ()), Region(Block([*ops, ReturnOp()])))])
    set_target(module, "tiny4", Precision(8, 8, 8))
    module.verify()
    return module_text(module)


TOO_LARGE = [HealthCheck.too_slow, HealthCheck.data_too_large]


@settings(max_examples=60, deadline=None, suppress_health_check=TOO_LARGE)
@given(programs())
def test_programs(text: str) -> None:
    check(text)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None, suppress_health_check=TOO_LARGE)
@given(programs())
def test_many_programs(text: str) -> None:
    check(text)


def check(text: str) -> None:
    module = parse_module(text)
    source = next(op for op in module.walk() if isinstance(op, spat.InputOp))
    inputs = {"x": np.random.default_rng(1).normal(size=source.logical_shape).astype(np.float32)}
    expected = spat_reference.interpret(module, inputs)
    assume(all(np.abs(value).max() < 1e6 for value in expected.values()))
    PassManager(build_pipeline(PIPELINE), (Verifier(),)).run(make_context(), module)
    found = simulate(package_of(module), inputs)
    for name, value in expected.items():
        scale = max(float(np.abs(value).max()), 1.0)
        np.testing.assert_allclose(found[name], value, rtol=0, atol=1e-3 * scale, err_msg=name)
