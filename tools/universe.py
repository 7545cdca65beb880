"""What tile adds to xDSL's own tools: `xdsl-opt` finds it through the `xdsl.universe` entry point.

Upstream's dialects and passes, which `tile-opt` offers too, are not here: names must be unique among universes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.universe import Universe
from xdsl.utils.frontend import Frontend

from ..dialects.registry import DIALECTS, all_dialects
from ..passes.registry import PASSES, all_passes
from ..support.diagnostics import TileError


@dataclass(frozen=True)
class OnnxFrontend(Frontend):
    """Imports an ONNX model, as `tile-opt` does: `xdsl-opt model.onnx`, or `-f 'onnx{dims="batch=1"}'`."""

    name = "onnx"

    dims: tuple[str, ...] = ()
    """Sizes of symbolic dimensions, each `NAME=N`."""

    def parse(self, ctx: Context, input: IO[bytes], input_name: str) -> ModuleOp:
        from ..lowering.onnx_importer import import_onnx

        sizes: dict[str, int] = {}
        for binding in self.dims:
            name, _, size = binding.rpartition("=")
            if not name or not size.isascii() or not size.isdigit():
                raise TileError("frontend 'onnx'", f"dims has '{binding}'", 'write dims="NAME=N"')
            sizes[name] = int(size)
        # By its path, if it has one: external data lies beside the file.
        path = Path(input_name)
        return import_onnx(path if path.is_file() else input.read(), sizes)


def _onnx_frontend() -> type[Frontend]:
    return OnnxFrontend


TILE_UNIVERSE = Universe(
    all_dialects={name: factory for name, factory in all_dialects().items() if name in DIALECTS},
    all_passes={name: factory for name, factory in all_passes().items() if PASSES[name].startswith("tilec.")},
    all_frontends={"onnx": _onnx_frontend},
)
