"""How the names of network nodes travel: as MLIR name locations, `loc("conv1")`.

xDSL prints locations with `--print-debuginfo` and parses them back, and `clone` keeps them. Its op constructors and its
rewriter do not: whoever replaces an op copies the location with :func:`copy_location`, or builds it with
:func:`located`.
"""

from __future__ import annotations

from typing import TypeVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, Operation

OperationT = TypeVar("OperationT", bound=Operation)


def name_location(name: str) -> NameLoc:
    """The location of the node called ``name``."""
    return NameLoc(StringAttr(name), NoneAttr())


def node_name(op: Operation) -> str:
    """The name of the network node that ``op`` comes from: several, joined by `+`, for a fused op; or empty."""
    return "+".join(node_names_of(op.location))


def file_location(op: Operation) -> FileLineColLoc | None:
    """Where in a file ``op`` was read from; None if it was not."""
    return _in_file(op.location)


def known_place(op: Operation) -> str:
    """Where ``op`` comes from: `node 'conv1'`, `model.mlir:3:5`; empty if it does not say."""
    if name := node_name(op):
        return f"node '{name}'"
    if (location := file_location(op)) is not None:
        return f"{location.filename.data}:{location.line.data}:{location.column.data}"
    return ""


def place_of(op: Operation) -> str:
    """What an error calls the place of ``op``: where it comes from, or at least what it is."""
    return known_place(op) or f"op '{op.name}'"


def copy_location(source: Operation, target: OperationT) -> OperationT:
    """Gives ``target`` the location of ``source``; returns ``target``."""
    target.location = source.location
    return target


def fuse_locations(target: OperationT, *sources: Operation) -> OperationT:
    """Gives ``target`` all locations of ``sources``, without duplicates, in order; returns ``target``."""
    locations: dict[Attribute, None] = {}
    for source in sources:
        match source.location:
            case UnknownLoc():
                pass
            case FusedLoc(locations=parts):
                locations.update(dict.fromkeys(_elements(parts)))
            case location:
                locations[location] = None
    match tuple(locations):
        case ():
            target.location = UnknownLoc()
        case (NameLoc() | FileLineColLoc() | CallSiteLoc() as single,):
            target.location = single
        case several:
            target.location = FusedLoc(several, NoneAttr())
    return target


def located(op: OperationT, name: str) -> OperationT:
    """Gives ``op`` the location of the node called ``name``; returns ``op``."""
    if name:
        op.location = name_location(name)
    return op


def node_names_of(location: Attribute) -> tuple[str, ...]:
    """The names of the network nodes that a location stands for, in order."""
    match location:
        case NameLoc():
            return (location.desc.data,)
        case FusedLoc(locations=parts):
            return tuple(dict.fromkeys(name for part in _elements(parts) for name in node_names_of(part)))
        case CallSiteLoc():
            return node_names_of(location.callee)
        case _:
            return ()


def _in_file(location: Attribute) -> FileLineColLoc | None:
    match location:
        case FileLineColLoc():
            return location
        case NameLoc():
            return _in_file(location.location)
        case CallSiteLoc():
            return _in_file(location.caller)
        case FusedLoc(locations=parts):
            return next((found for part in _elements(parts) if (found := _in_file(part)) is not None), None)
        case _:
            return None


def _elements(attribute: Attribute) -> tuple[Attribute, ...]:
    assert isinstance(attribute, ArrayAttr)
    return cast("ArrayAttr[Attribute]", attribute).data
