"""The event loop of :mod:`.kernel`, compiled by numba if that is installed and the program is long enough.

A compiled function that takes a tuple of arrays counts references to every one of them at every call, which costs
more than the work. So for compilation the columns of ``code`` and ``state`` are put into two arrays, one of whole
and one of real numbers, and the loop's text is rewritten: ``state.next[core]`` becomes ``numbers[places[k] + core]``,
where ``places`` says where each column begins.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import os
from collections.abc import Callable
from functools import cache
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from . import kernel
from .kernel import Code, Facts, State

WORTH_COMPILING = 40_000
"""Elements from which on loading the compiled loop takes less time than it saves."""

_PACKED = ("numbers", "reals", "places")
_FIELDS = [("code", name) for name in Code._fields] + [("state", name) for name in State._fields]
_PLACE = {field: place for place, field in enumerate(_FIELDS)}


def can_compile() -> bool:
    """Whether numba is there and not switched off (``TILE_NO_NUMBA=1``)."""
    return not os.environ.get("TILE_NO_NUMBA") and importlib.util.find_spec("numba") is not None


def run_compiled(facts: Facts, code: Code, state: State, limit: int) -> tuple[int, State]:
    """:func:`.kernel.run` on arrays: what it returns, and the state in which it ended."""
    columns = [cast("npt.NDArray[Any]", column) for column in (*code, *state)]
    packed: list[npt.NDArray[Any]] = []
    places = np.zeros(len(columns), np.int64)
    for dtype in (np.int64, np.float64):
        alike = [place for place, column in enumerate(columns) if column.dtype == dtype]
        sizes = np.array([len(columns[place]) for place in alike])
        places[alike] = np.cumsum(sizes) - sizes
        packed.append(np.concatenate([columns[place] for place in alike]))
    cut = _compiled_loop()(facts, *packed, places, limit)
    ended: dict[str, Any] = {}
    for place, (_, name) in list(enumerate(_FIELDS))[len(code) :]:
        source = packed[int(columns[place].dtype == np.float64)]
        ended[name] = source[places[place] : places[place] + len(columns[place])]
    return cut, State(**ended)


@cache
def _compiled_loop() -> Callable[..., int]:
    """The first use on a machine compiles, which takes half a minute; later ones load the result from disk."""
    jit = cast("Callable[..., Any]", importlib.import_module("numba").njit)
    tree = ast.fix_missing_locations(_Packing().visit(ast.parse(inspect.getsource(kernel))))
    namespace: dict[str, Any] = {"__name__": f"{kernel.__name__}", "__file__": kernel.__file__}
    exec(compile(tree, str(kernel.__file__), "exec"), namespace)
    for name, function in list(namespace.items()):
        if inspect.isfunction(function) and function.__module__ == kernel.__name__:
            # Only the loop itself is called from Python and kept on disk, with the others in it.
            options = {"cache": True} if name == "run" else {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
            namespace[name] = jit(**options)(function)
    loop = namespace["run"]
    return cast("Callable[..., int]", loop)


class _Packing(ast.NodeTransformer):
    """Rewrites the kernel: columns of ``code`` and ``state`` become parts of two arrays."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        names = [argument.arg for argument in node.args.args]
        node.args.args = [ast.arg(name) for name in _packed_names(names)]
        node.returns = None
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        names = [argument.id if isinstance(argument, ast.Name) else "" for argument in node.args]
        if "code" in names or "state" in names:
            others = iter([argument for argument in node.args if not _is_packed(argument)])
            node.args = [
                ast.Name(name, ast.Load()) if name in _PACKED else next(others) for name in _packed_names(names)
            ]
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        column = node.value
        if isinstance(column, ast.Attribute) and _is_packed(column.value):
            owner = cast("ast.Name", column.value).id
            place = ast.Constant(_PLACE[owner, column.attr])
            begin = ast.Subscript(ast.Name("places", ast.Load()), place, ast.Load())
            array = ast.Name("reals" if column.attr.endswith("_pj") else "numbers", ast.Load())
            return ast.Subscript(array, ast.BinOp(begin, ast.Add(), node.slice), node.ctx)
        return node


def _is_packed(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("code", "state")


def _packed_names(names: list[str]) -> list[str]:
    """Parameters or arguments with the arrays in the place of the first of ``code`` and ``state``."""
    found: list[str] = []
    for name in names:
        if name not in ("code", "state"):
            found.append(name)
        elif "numbers" not in found:
            found += _PACKED
    return found
