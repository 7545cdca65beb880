"""Passes from Python files that are not part of the project (`--load-pass-plugin`)."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from xdsl.passes import ModulePass

from ..passes.registry import PassFactory
from ..support.diagnostics import TileError


def load_pass_plugins(paths: Iterable[str]) -> dict[str, PassFactory]:
    """Runs each file and gives the passes that it defines, by name."""
    found: dict[str, PassFactory] = {}
    for path in paths:
        for one in _passes_of(path):
            found[one.name] = lambda one=one: one
    return found


def _passes_of(path: str) -> list[type[ModulePass]]:
    spec = spec_from_file_location(f"tile_pass_plugin_{Path(path).stem}", path)
    if not Path(path).is_file() or spec is None or spec.loader is None:
        raise TileError("--load-pass-plugin", f"'{path}' is no Python file", "give a file NAME.py")
    module = module_from_spec(spec)
    # Dataclasses look their module up to resolve annotations.
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise TileError("--load-pass-plugin", f"'{path}' fails: {type(error).__name__}: {error}", "mend it") from error
    defined = [value for value in vars(module).values() if isinstance(value, type) and value.__module__ == spec.name]
    # A base of others need not have a name.
    passes = [one for one in defined if issubclass(one, ModulePass) and isinstance(getattr(one, "name", None), str)]
    if not passes:
        raise TileError("--load-pass-plugin", f"'{path}' defines no pass with a name", "derive one from ModulePass")
    return passes
