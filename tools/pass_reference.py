"""What there is to say about a pass: its documentation, and its options with types, defaults and documentation."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from dataclasses import dataclass
from textwrap import dedent

from xdsl.passes import ModulePass

from ..passes.pass_options import describe_type, option_fields, value_text
from ..passes.watch_plan import contract_of

UPSTREAM_DOCUMENTATION = {
    "cse": "Replaces an op by an equal one that dominates it.",
    "dce": "Erases ops without effects whose results nothing uses.",
}
"""What xDSL's passes do, where xDSL does not say it."""


@dataclass(frozen=True)
class OptionReference:
    """One option of a pass."""

    name: str
    type: str
    default: str | None
    """None if the option must be given."""
    documentation: str


@dataclass(frozen=True)
class PassReference:
    """One pass."""

    name: str
    documentation: str
    options: tuple[OptionReference, ...]
    contract: tuple[str, ...] = ()
    """What the pass promises to the guard, in words."""


def pass_reference(one: type[ModulePass]) -> PassReference:
    """Reads the reference of a pass from its class."""
    documentation = _field_documentation(one)
    options = tuple(
        OptionReference(
            field.option_name,
            describe_type(field.type),
            None if field.default is dataclasses.MISSING else value_text(field.default),
            documentation.get(field.name, ""),
        )
        for field in option_fields(one)
    )
    text = _documentation(one) or UPSTREAM_DOCUMENTATION.get(one.name, "")
    return PassReference(one.name, text, options, tuple(contract_of(one).describe()))


def _documentation(one: type[ModulePass]) -> str:
    """The docstring of the class itself: not an inherited one, nor the signature that a dataclass puts there."""
    documentation = vars(one).get("__doc__") or ""
    return "" if documentation.startswith(f"{one.__name__}(") else inspect.cleandoc(documentation)


def _field_documentation(one: type[ModulePass]) -> dict[str, str]:
    """The string below each field of a class, which Python itself does not keep."""
    found: dict[str, str] = {}
    for owner in reversed(one.__mro__[:-1]):
        if not dataclasses.is_dataclass(owner):
            continue
        try:
            source = dedent(inspect.getsource(owner))
        except (OSError, TypeError):
            continue
        (definition,) = ast.parse(source).body
        assert isinstance(definition, ast.ClassDef)
        for statement, following in zip(definition.body, definition.body[1:], strict=False):
            match statement, following:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    found[name] = inspect.cleandoc(text)
                case _:
                    pass
    return found
