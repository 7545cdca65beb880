"""Products that come some columns at a time: they compute the same, with few addresses, and instructions only as said.

Bodies are drawn of products, their sums, constants and views of these, on rows that are long enough for turns.
"""

from __future__ import annotations

import numpy as np
import pytest
import spat_reference
from compilation import module_text, package_of, parse_module, simulate
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tilec.analysis.machine import Precision
from tilec.analysis.window import RowWindow
from tilec.codegen.isa import Op
from tilec.codegen.package import Package
from tilec.codegen.registers import register_values
from tilec.dialects import spat
from tilec.dialects.registry import make_context
from tilec.lowering.onnx_to_spat.batch_builder import BatchBuilder
from tilec.lowering.target import set_target
from tilec.passes.manager import PassManager, Verifier
from tilec.passes.pipeline import build_pipeline
from tilec.passes.registry import NAMED_PIPELINES
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

PIPELINE = NAMED_PIPELINES["tile-default"].partition("convert-onnx-to-spat,")[2]
HEIGHT = 3


class Layer:
    """A batch over rows of ``columns`` columns, and what there is to compute with."""

    def __init__(self, columns: int, channels: int, seed: int) -> None:
        self.columns, self.channels = columns, channels
        self.random = np.random.default_rng(seed)
        tile = spat.tile_type(HEIGHT, columns, channels)
        self.source = spat.InputOp("x", (1, channels, HEIGHT, columns), tile)
        self.builder = BatchBuilder(HEIGHT, self.source)
        self.window = self.builder.input(self.source.result, RowWindow(HEIGHT, HEIGHT))

    def product(self, vector: SSAValue, outputs: int) -> SSAValue:
        matrix = self.random.normal(size=(spat.shape_of(vector)[1], outputs)).astype(np.float32)
        return self.builder.apply(spat.VMMOp(vector, self.builder.weight(matrix), 0))

    def read(self, start: int, length: int, count: int, step: int) -> SSAValue:
        return self.builder.view(self.window, 0, start, step, count, length)

    def constant(self, channels: int) -> SSAValue:
        return self.builder.weight(self.random.normal(size=(1, channels)).astype(np.float32))

    def module(self, *results: SSAValue) -> ModuleOp:
        made, batch = self.builder.finish(*results)
        outputs: list[spat.OutputOp] = []
        for index, value in enumerate(batch.results):
            rows, width, depth = spat.shape_of(value)
            logical = (1, depth, rows, width)
            outputs.append(spat.OutputOp(f"y{index}", logical, [np.arange(depth, dtype=np.int32)], [value]))
        module = ModuleOp([FuncOp("main", ((), ()), Region(Block([self.source, *made, *outputs, ReturnOp()])))])
        set_target(module, "tiny4", Precision(8, 8, 8))
        module.verify()
        return module


def compiled(text: str) -> Package:
    module = parse_module(text)
    PassManager(build_pipeline(PIPELINE), (Verifier(),)).run(make_context(), module)
    return package_of(module)


def check(text: str, package: Package) -> None:
    module = parse_module(text)
    source = next(op for op in module.walk() if isinstance(op, spat.InputOp))
    inputs = {"x": np.random.default_rng(1).normal(size=source.logical_shape).astype(np.float32)}
    found = simulate(package, inputs)
    for name, value in spat_reference.interpret(module, inputs).items():
        scale = max(float(np.abs(value).max()), 1.0)
        np.testing.assert_allclose(found[name], value, rtol=0, atol=1e-3 * scale, err_msg=name)


@st.composite
def bodies(draw: st.DrawFn) -> str:
    count = draw(st.sampled_from([6, 14, 15, 16, 18, 21, 28, 40]))
    step, outputs = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    layer = Layer(count + 2, step, draw(st.integers(0, 9)))
    tiles: list[SSAValue] = []
    for _ in range(draw(st.integers(1, 8))):
        kind = draw(st.sampled_from(["product", "product", "sum", "sum", "constant", "relu", "view", "again"]))
        if kind == "product" or not tiles:
            start = draw(st.integers(0, 2 * step))
            length = draw(st.integers(1, 3 * step - start))
            tiles.append(layer.product(layer.read(start, length, count, step), outputs))
            continue
        tile = tiles[-1] if draw(st.booleans()) else draw(st.sampled_from(tiles))
        columns, channels = spat.shape_of(tile)
        if kind == "sum":
            other = draw(st.sampled_from([one for one in tiles if spat.shape_of(one) == (columns, channels)]))
            op = draw(st.sampled_from([spat.VAddOp, spat.VSubOp]))
            tiles.append(layer.builder.apply(op(tile, other)))
        elif kind == "constant":
            tiles.append(layer.builder.apply(spat.VAddOp(tile, layer.constant(channels))))
        elif kind == "relu":
            tiles.append(layer.builder.apply(spat.ReluOp(tile)))
        elif kind == "view":
            width = draw(st.sampled_from([n for n in range(1, channels + 1) if channels % n == 0]))
            tiles.append(layer.builder.view(tile, 0, 0, width, columns * channels // width, width))
        else:
            tiles.append(layer.product(tile, draw(st.sampled_from([outputs, channels]))))
    return module_text(layer.module(tiles[-1], *draw(st.lists(st.sampled_from(tiles), max_size=2))))


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(bodies())
def test_bodies_compute_the_same(text: str) -> None:
    check(text, compiled(text))


@pytest.mark.slow
@settings(
    max_examples=1500,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(bodies())
def test_many_bodies_compute_the_same(text: str) -> None:
    check(text, compiled(text))


def test_a_tile_that_stays_is_not_shared() -> None:
    """A product of one column writes 128 elements: more results of the one before, if that waits in the same tile."""
    layer = Layer(17, 1, 0)
    window = layer.read(0, 1, 15, 1)
    first, second = layer.product(window, 1), layer.product(window, 1)
    layer.builder.apply(spat.VAddOp(first, layer.constant(1)))  # ends the turns
    total = layer.builder.apply(spat.VAddOp(layer.product(window, 1), second))
    text = module_text(layer.module(layer.product(window, 1), total))
    check(text, compiled(text))


def addresses_of_products(package: Package) -> tuple[int, int]:
    """How many different addresses products write to and read, on the core with most."""
    program, counts = package.program, [(0, 0)]
    for core in range(program.core_count):
        columns = program.core(core)
        values, products = register_values(columns), columns.op == Op.MVMUL
        counts.append((len(np.unique(values.rd[products])), len(np.unique(values.rs1[products]))))
    return max(counts)


def count_of(package: Package, op: Op) -> int:
    return int((package.program.columns.op == op).sum())


def test_a_sum_of_slices_writes_to_two_blocks() -> None:
    layer = Layer(30, 4, 0)
    total = layer.product(layer.read(0, 4, 28, 4), 8)
    for start in (4, 8):
        total = layer.builder.apply(spat.VAddOp(total, layer.product(layer.read(start, 4, 28, 4), 8)))
    text = module_text(layer.module(total))
    package = compiled(text)
    check(text, package)
    # 28 columns come in 4 turns of 7: results of the first two slices lie apart, those of the third in place of one.
    assert addresses_of_products(package)[0] == 2 * 7
    assert count_of(package, Op.MVMUL) == HEIGHT * 3 * 28
    assert count_of(package, Op.VVADD) == HEIGHT * 2 * 4


def test_a_constant_is_added_in_as_many_instructions_as_ever() -> None:
    layer = Layer(28, 4, 0)
    product = layer.product(layer.read(0, 4, 28, 4), 256)
    text = module_text(layer.module(layer.builder.apply(spat.VAddOp(product, layer.constant(256)))))
    package = compiled(text)
    check(text, package)
    # Instructions with constants are for 2048 elements: 8 columns of 28, in 4 instructions or in 4 turns.
    assert addresses_of_products(package)[0] == 7
    assert count_of(package, Op.VVADD) == HEIGHT * 4


def test_short_rows_come_at_once() -> None:
    layer = Layer(14, 4, 0)
    products = [layer.product(layer.read(0, 4, 14, 4), 8) for _ in range(2)]
    package = compiled(module_text(layer.module(layer.builder.apply(spat.VAddOp(*products)))))
    assert count_of(package, Op.VVADD) == HEIGHT
