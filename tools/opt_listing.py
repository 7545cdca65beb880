"""`--list-passes` and `--show-dialects`."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Sequence
from textwrap import indent

from xdsl.passes import ModulePass

from ..dialects.registry import all_dialects
from ..passes.pass_options import describe_type, option_fields, value_text
from ..passes.registry import NAMED_PIPELINES, all_passes
from .opt_arguments import Listing
from .opt_plugins import load_pass_plugins


def listing(what: Listing, plugins: Sequence[str] = ()) -> str:
    """The text that lists passes or dialects."""
    if what == "dialects":
        return "".join(f"{name}\n" for name in sorted(all_dialects()))
    factories = all_passes() | load_pass_plugins(plugins)
    parts = [pass_description(factory()) for factory in factories.values()]
    parts += [f"{name}\n  a pipeline: {text}\n" for name, text in NAMED_PIPELINES.items()]
    return "\n".join(parts)


def pass_description(one: type[ModulePass]) -> str:
    """Name, documentation and options of a pass."""
    lines = [one.name, indent(pass_documentation(one), "  ")]
    for field in option_fields(one):
        required = field.default is dataclasses.MISSING
        default = "must be given" if required else f"default {value_text(field.default)}"
        lines.append(f"    {field.option_name}: {describe_type(field.type)}; {default}")
    return "\n".join(lines) + "\n"


def pass_documentation(one: type[ModulePass]) -> str:
    """The docstring of the pass itself, not one that it inherits."""
    documentation = vars(one).get("__doc__") or ""
    # A dataclass without a docstring gets its signature as one.
    return "" if documentation.startswith(f"{one.__name__}(") else inspect.cleandoc(documentation)
