"""`--list-passes` and `--show-dialects`."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import indent

from ..dialects.registry import all_dialects
from ..passes.registry import NAMED_PIPELINES, all_passes
from .opt_arguments import Listing
from .opt_plugins import load_pass_plugins
from .pass_reference import PassReference, pass_reference


def listing(what: Listing, plugins: Sequence[str] = ()) -> str:
    """The text that lists passes or dialects."""
    if what == "dialects":
        return "".join(f"{name}\n" for name in sorted(all_dialects()))
    factories = all_passes() | load_pass_plugins(plugins)
    parts = [_pass_text(pass_reference(factory())) for factory in factories.values()]
    parts += [f"{name}\n  a pipeline: {text}\n" for name, text in NAMED_PIPELINES.items()]
    return "\n".join(parts)


def _pass_text(one: PassReference) -> str:
    lines = [one.name]
    if one.documentation:
        lines.append(indent(one.documentation, "  "))
    for option in one.options:
        default = "must be given" if option.default is None else f"default {option.default}"
        lines.append(f"    {option.name}: {option.type}; {default}")
        if option.documentation:
            lines.append(indent(option.documentation, " " * 6))
    return "\n".join(lines) + "\n"
