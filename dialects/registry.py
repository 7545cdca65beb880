"""The dialects by name. Nothing is imported until the context meets an op, type or attribute of a dialect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TypeAlias

from xdsl.context import Context
from xdsl.ir import Dialect

DialectFactory: TypeAlias = Callable[[], Dialect]

DIALECTS: Mapping[str, str] = MappingProxyType(
    {
        "tile": "tilec.dialects.tile:Tile",
        "onnx": "tilec.dialects.onnx:Onnx",
        "spat": "tilec.dialects.spat:Spat",
        "pim": "tilec.dialects.pim:Pim",
    }
)
"""`module:object` of the dialects of this project."""


def all_dialects() -> dict[str, DialectFactory]:
    """A factory for every dialect: this project's, and xDSL's own; calling it imports the dialect."""
    from xdsl.dialects import get_all_dialects

    return {**get_all_dialects(), **{name: _factory(target) for name, target in DIALECTS.items()}}


def make_context(allow_unregistered: bool = False) -> Context:
    """A context in which every dialect is registered and none is loaded but `builtin`."""
    context = Context(allow_unregistered=allow_unregistered)
    for name, factory in all_dialects().items():
        context.register_dialect(name, factory)
    context.load_registered_dialect("builtin")
    return context


def _factory(target: str) -> DialectFactory:
    def load() -> Dialect:
        module, _, name = target.partition(":")
        dialect = getattr(import_module(module), name)
        assert isinstance(dialect, Dialect), f"{target} is no dialect"
        return dialect

    return load
