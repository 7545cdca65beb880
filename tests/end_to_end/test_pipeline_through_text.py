"""Every pass runs alone on the text that the pass before it printed, and the package stays the same."""

from __future__ import annotations

from pathlib import Path

import onnx
from compilation import lower, package_of
from models import Network, Value
from tilec.codegen.package import write_package
from tilec.dialects.registry import make_context
from tilec.dialects.tile import load_resources
from tilec.passes.pipeline import build_pipeline, pipeline_text
from tilec.tools import tile_opt
from tilec.tools.opt_input import Chunk, parse_chunk


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
