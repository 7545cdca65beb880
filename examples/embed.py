"""tile as a library: dialects, passes, package builder and functional simulator inside another program on xDSL.

python embed.py [MODEL.onnx]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
from tilec.codegen.build import build_package
from tilec.codegen.manifest import Origin
from tilec.codegen.package import write_package
from tilec.dialects import onnx
from tilec.dialects.registry import make_context
from tilec.lowering.onnx_importer import import_onnx
from tilec.passes.manager import PassManager, Verifier
from tilec.passes.onnx_simplify import OnnxSimplifyPass
from tilec.passes.pipeline import build_pipeline
from tilec.simulators.functional import run
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.passes import PassPipeline

NETWORK = """
func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %w = onnx.Constant #tile.array<f32[2, 2] [1.0, 2.0, 3.0, 4.0]>
  %y = onnx.MatMul(%x, %w) : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}
"""


def read_text(context: Context) -> ModuleOp:
    """Parses a network, and runs one of our passes with xDSL's own pass pipeline."""
    module = Parser(context, NETWORK).parse_module()
    PassPipeline((OnnxSimplifyPass(),)).apply(context, module)
    module.verify()
    return module


def compile_and_run(context: Context, module: ModuleOp, package_path: Path) -> dict[str, np.ndarray]:
    """Lowers a network with a cut of the default pipeline, writes its package, and runs it on ones."""
    lowering = build_pipeline("tile-default{machine=tiny4}")
    PassManager(lowering, (Verifier(),)).run(context, module)
    package = build_package(module, Origin("embedded"), options={})
    print("sha256", write_package(package, package_path))
    inputs = {layout.name: np.ones(layout.shape, np.float32) for layout in package.inputs}
    return run(package_path, inputs)


def main(arguments: list[str]) -> int:
    context = make_context()  # or your own Context: see docs/embedding.md
    module = import_onnx(Path(arguments[0])) if arguments else read_text(context)
    print("layers with weights:", sum(isinstance(op, onnx.ConvOp | onnx.GemmOp) for op in module.walk()))
    with tempfile.TemporaryDirectory() as folder:
        for name, value in compile_and_run(context, module, Path(folder) / "embedded.tilepkg").items():
            print(name, value.tolist() if value.size <= 10 else value.shape)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
