"""The entry to ONNX import: `.onnx` file in, module of the `onnx` dialect out.

- Opsets 7 to the newest that the installed onnx package knows; every version of an operator becomes the dialect's one
  form. Functions of the model are inlined.
- Shapes are static afterwards: symbolic dimensions are bound by `dims`, shape arithmetic is computed.
- The name of a node becomes the location of its ops, the name of an initializer that of its constant.
- Whatever is wrong with the file is a TileError; what is not supported is told all at once.

The onnx package takes longer to import than most commands take to run, so this module imports it when called.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from xdsl.dialects.builtin import ModuleOp

from .onnx_file import ModelFile, opened_model

NO_DIMS: Mapping[str, int] = MappingProxyType({})


def import_onnx(source: Path | str | bytes | ModelFile, dims: Mapping[str, int] = NO_DIMS) -> ModuleOp:
    """Imports a model from a path, from the content of a file, or from a file that is open, which is closed then.

    ``dims`` gives the symbolic dimensions of the inputs their sizes (`--dim NAME=N`). A dimension without a name is
    called after its input and its position: `x.0`.
    """
    with opened_model(Path(source) if isinstance(source, str) else source) as file:
        from .onnx_graph import build_module
        from .onnx_model import model_in

        model = model_in(file)
    return build_module(model, dims)
