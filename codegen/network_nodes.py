"""Which node of the network each instruction comes from: the tables of a package's report that say so.

An instruction names an entry of the program's ``node_names``, which may stand for several nodes that were fused: a
convolution, its normalization and activation. Its *layer* is the first of these in the order of the network, so that
every instruction counts for one layer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

from ..dialects.location import node_names_of
from ..support.arrays import Ints
from ..support.diagnostics import TileError
from .columns import Program

NODES, SOURCES = "nodes", "sources"
_PREFIX = "onnx."
_CONSTANT = "onnx.Constant"
_LAYOUT_ONLY = ("Reshape", "Flatten")


@dataclass(frozen=True)
class NetworkNode:
    """A node of the network. ``operator`` is empty if it is not known."""

    name: str
    operator: str = ""


def network_nodes(module: ModuleOp) -> tuple[NetworkNode, ...]:
    """The nodes of a module of the `onnx` dialect, in order; nothing if it is at another level.

    Of several ops of one node the operator is the first that is more than a reshape; of a fused op it is not known.
    """
    found: dict[str, str] = {}
    for op in module.walk():
        if not op.name.startswith(_PREFIX) or op.name == _CONSTANT:
            continue
        names = node_names_of(op.location)
        operator = op.name.removeprefix(_PREFIX) if len(names) == 1 else ""
        for name in names:
            if not found.get(name) or found[name] in _LAYOUT_ONLY:
                found[name] = operator or found.get(name, "")
    return tuple(NetworkNode(name, operator) for name, operator in found.items())


def node_tables(nodes: Sequence[NetworkNode], ops: Iterable[Operation], names: Sequence[str]) -> dict[str, object]:
    """What `report.json` has: ``nodes``, and ``sources``, for each of the program's ``names`` the numbers of its nodes.

    ``ops`` are those that the program was made of. Nodes that only they know follow behind, in their order.
    """
    numbers = {node.name: number for number, node in enumerate(nodes)}
    every = list(nodes)
    parts: dict[str, tuple[str, ...]] = {}
    seen: dict[int, Attribute] = {}
    for op in ops:
        location = op.location
        if id(location) in seen:
            continue
        seen[id(location)] = location  # which keeps it, so that no other one has its identity
        found = node_names_of(location)
        parts.setdefault("+".join(found), found)
        for name in found:
            if name not in numbers:
                numbers[name] = len(every)
                every.append(NetworkNode(name))
    sources = [[numbers[part] for part in parts[name]] for name in names]
    return {NODES: [{"name": node.name, "operator": node.operator} for node in every], SOURCES: sources}


@dataclass(frozen=True, eq=False)
class Layers:
    """The layers of a program: the nodes of its network, and what comes of none."""

    nodes: tuple[NetworkNode, ...]
    """In the order of the network. The last one has no name and stands for instructions of no node."""
    of_name: Ints
    """[node names + 1] the number of each one's layer; the last is that of instructions without a name."""
    sources: tuple[tuple[int, ...], ...]
    """[node names] the numbers of all nodes of each."""

    @staticmethod
    def of(program: Program, report: Mapping[str, Any] | None, source: str) -> Layers:
        """The layers that ``report``, the content of `report.json`, tells. Without that, each name is one node.

        A TileError about ``source`` if they do not belong to the program.
        """
        if report is None or NODES not in report:
            nodes = tuple(NetworkNode(name) for name in program.node_names)
            sources = tuple((number,) if name else () for number, name in enumerate(program.node_names))
        else:
            try:
                nodes, sources = _tables(report, len(program.node_names))
            except (TypeError, KeyError, ValueError, AttributeError) as error:
                raise TileError(source, f"has no table of nodes: {error}", "compile the model again") from None
        last = len(nodes)
        first = [min(of_one, default=last) for of_one in sources]
        return Layers((*nodes, NetworkNode("")), np.array([*first, last], np.int64), sources)

    def of_rows(self, program: Program) -> Ints:
        """Per instruction of the program the number of its layer."""
        if program.node is None:
            return np.full(len(program.columns), len(self.nodes) - 1)
        return self.of_name[np.where(program.node < len(self.of_name) - 1, program.node, -1)]

    def fused(self, layer: int) -> tuple[int, ...]:
        """The other nodes that some instruction of a layer comes from as well, in order."""
        found = {node for one in self.sources if min(one, default=-1) == layer for node in one}
        return tuple(sorted(found - {layer}))


def _tables(report: Mapping[str, Any], names: int) -> tuple[tuple[NetworkNode, ...], tuple[tuple[int, ...], ...]]:
    nodes = tuple(NetworkNode(_text(one["name"]), _text(one["operator"])) for one in report[NODES])
    sources = tuple(tuple(cast("list[object]", one)) for one in report[SOURCES])
    if len(sources) != names:
        raise ValueError(f"{len(sources)} sources for {names} names")
    for one in sources:
        for number in one:
            if not isinstance(number, int) or not 0 <= number < len(nodes):
                raise ValueError(f"{str(number)[:40]} is no node")
    return nodes, cast("tuple[tuple[int, ...], ...]", sources)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{str(value)[:40]} is no string")
    return value
