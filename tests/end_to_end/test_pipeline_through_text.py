"""Every pass runs alone on the text of the pass before it, the rest of the pipeline on any dump: same package."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from compilation import lower, package_of
from models import Network, Value
from tilec.codegen.package import write_package
from tilec.dialects.block_looks import BlockLooks
from tilec.dialects.registry import make_context
from tilec.dialects.tile import ArrayAttr, load_resources
from tilec.passes.instrumentation import PassRun
from tilec.passes.ir_text import ir_text
from tilec.passes.ir_tree import IRTree
from tilec.passes.pipeline import build_pipeline, pipeline_text
from tilec.support.diagnostics import TileError
from tilec.tools import tile_compile, tile_opt
from tilec.tools.opt_input import Chunk, parse_chunk
from xdsl.dialects.builtin import ModuleOp


def small_network() -> onnx.ModelProto:
    network = Network(image_size=8, num_classes=5, seed=0, opset=17)
    x: Value = network.relu(network.batch_norm(network.conv(network.input, 6, 3, pad=1, bias=False)))
    x = network.add(x, network.conv(x, 6, 3, pad=1))
    x = network.lrn(network.max_pool(x, 2, 2))
    x = network.concat(x, network.relu(network.conv(x, 10, 1)))
    x = network.linear(network.flatten(network.global_average_pool(x)), 5)
    return network.model(x, "small")


def test_one_pass_at_a_time(tmp_path: Path) -> None:
    model = small_network()
    source = tmp_path / "model.onnx"
    onnx.save(model, source)
    resources: list[str] = []
    for index, one in enumerate(build_pipeline("tile-default{machine=tiny4}")):
        result = tmp_path / f"{index}.mlir"
        arguments = [str(source), f"--pass-pipeline={pipeline_text((one,))}", "--print-debuginfo", "-o", str(result)]
        arguments += [f"--emit-resources={tmp_path / f'{index}.npz'}", *resources]
        assert tile_opt.main(arguments) == 0
        source, resources = result, [f"--resources={tmp_path / f'{index}.npz'}"]
    load_resources(tmp_path / resources[0].partition("=")[2])
    module = parse_chunk(Chunk(str(source), source.read_text()), make_context())
    through_text = write_package(package_of(module), tmp_path / "through_text")
    assert through_text == write_package(package_of(lower(model, "tiny4")), tmp_path / "in_process")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package, `direct`, and the dumps of its build, `ir`."""
    folder = tmp_path_factory.mktemp("tree")
    onnx.save(small_network(), folder / "model.onnx")
    where = ["-o", str(folder / "direct"), "--print-ir-tree-dir", str(folder / "ir")]
    assert tile_compile.main([str(folder / "model.onnx"), "-q", "--machine", "tiny4", *where]) == 0
    return folder


PASSES = build_pipeline("tile-default{machine=tiny4}")


@pytest.mark.parametrize("last", range(len(PASSES)), ids=[one.name for one in PASSES])
def test_a_dump_can_be_continued(last: int, tree: Path, tmp_path: Path) -> None:
    (dump,) = tree.glob(f"ir/*/{last}_{PASSES[last].name}.mlir")
    rest = pipeline_text(PASSES[last + 1 :])
    resources = ["--resources", str(tree / "ir" / "resources.npz")]
    out = tmp_path / "continued"
    assert tile_compile.main([str(dump), "-q", "-o", str(out), *resources, f"--pass-pipeline={rest}"]) == 0
    for name in ("program.bin", "weights.npz", "report/report.txt"):
        assert (out / name).read_bytes() == (tree / "direct" / name).read_bytes(), name


def test_the_resources_of_a_tree_are_what_its_dumps_name(tree: Path) -> None:
    text = "".join(path.read_text() for path in tree.glob("ir/*/*.mlir"))
    with np.load(tree / "ir" / "resources.npz") as arrays:
        assert len(arrays.files) == len(set(arrays.files)) > 0
        assert set(arrays.files) == set(re.findall(r'@"([0-9a-f]{32})"', text))


@pytest.mark.parametrize(("error", "kept"), [(TileError("here", "rejected"), True), (KeyboardInterrupt(), False)])
def test_a_tree_of_a_run_that_ends_early(error: BaseException, kept: bool, tmp_path: Path) -> None:
    module = ModuleOp([], {"a": ArrayAttr.get(np.arange(100, dtype=np.float32))})
    tree = IRTree(tmp_path)
    run = PassRun(0, PASSES[0], PASSES[0].name, module, make_context(), PASSES, BlockLooks())

    def dump_and_end() -> None:
        with tree.open():
            tree("After", ir_text(module), run)
            raise error

    with pytest.raises(type(error)):
        dump_and_end()
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["resources.npz"] * kept
