"""Pass pipelines: text in MLIR's syntax to passes, and passes back to text.

`-p 'a,b{x=1}'` and `--pass-pipeline='builtin.module(a,b{x=1})'` mean the same. Named pipelines expand; an option given
to one goes to every pass in it that has such an option.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.passes import ModulePass

from ..support.diagnostics import TileError
from ..support.source import SourceError, choices, suggestion
from .pass_options import describe_type, missing_options, option_fields, read_options, write_options
from .pipeline_syntax import AnchorElement, Element, Option, PassElement, Scalar, plain_elements, print_elements
from .registry import NAMED_PIPELINES, PassFactory, all_passes

MODULE_ANCHORS = ("builtin.module", "any")
FUNCTION_ANCHOR = "func.func"


@dataclass(frozen=True)
class PipelineSpec:
    """A parsed pipeline whose passes are not looked up yet."""

    elements: tuple[Element, ...]
    text: str = dataclasses.field(default="", compare=False)
    source: str = dataclasses.field(default="pipeline", compare=False)

    def __str__(self) -> str:
        return print_elements(self.elements)


def parse_pipeline(text: str, source: str = "pipeline") -> PipelineSpec:
    """Parses ``text``; ``source`` says in errors where it comes from. A SourceError if it is malformed."""
    elements = plain_elements(text)
    if elements is None:
        from .pipeline_parser import parse_elements  # brings the parser generator, which takes its time to load

        elements = parse_elements(text, source)
    return PipelineSpec(elements, text, source)


def named_pipeline(name: str, options: Mapping[str, str | int | bool], source: str) -> PipelineSpec:
    """The pipeline called ``name`` with these values of its options."""
    element = PassElement(name, tuple(Option(key, _scalar(value)) for key, value in options.items()))
    return PipelineSpec((element,), print_elements((element,)), source)


def _scalar(value: str | int | bool) -> Scalar:
    return Scalar(value, quoted=True) if isinstance(value, str) else Scalar(str(value).lower())


def build_pipeline(
    pipeline: PipelineSpec | str,
    available: Mapping[str, PassFactory] | None = None,
    named: Mapping[str, str] = NAMED_PIPELINES,
) -> tuple[ModulePass, ...]:
    """The passes that ``pipeline`` stands for, in order. A SourceError if it names what does not exist."""
    spec = parse_pipeline(pipeline) if isinstance(pipeline, str) else pipeline
    return tuple(_Builder(spec, all_passes() if available is None else available, named).build())


def pipeline_text(passes: Sequence[ModulePass], include_defaults: bool = True) -> str:
    """Text from which :func:`build_pipeline` builds equal passes."""
    elements = tuple(PassElement(one.name, write_options(one, include_defaults)) for one in passes)
    return print_elements((AnchorElement("builtin.module", elements),))


@dataclass(frozen=True)
class _Builder:
    spec: PipelineSpec
    available: Mapping[str, PassFactory]
    named: Mapping[str, str]

    def build(self) -> Iterator[ModulePass]:
        match self.spec.elements:
            case (AnchorElement() as anchor,) if anchor.name in MODULE_ANCHORS:
                elements = anchor.elements
            case elements:
                pass
        for element in elements:
            match element:
                case PassElement():
                    yield from self._pass(element)
                case AnchorElement():
                    yield from self._nested(element)

    def _pass(self, element: PassElement) -> Iterator[ModulePass]:
        if element.name in self.named:
            yield from self._named(element)
        else:
            owner = self._class(element)
            yield self._construct(owner, element, self._read(owner, element.options))

    def _named(self, element: PassElement) -> Iterator[ModulePass]:
        """The passes of a named pipeline; an option goes to each of them that has it, and must go to one."""
        text = self.named[element.name]
        inner = _Builder(parse_pipeline(text, f"pipeline '{element.name}'"), self.available, {})
        unused = {_field_name(option): option for option in element.options}
        known: dict[str, None] = {}
        for part in inner.spec.elements:
            assert isinstance(part, PassElement), f"pipeline '{element.name}' nests pipelines"
            owner = inner._class(part)
            fields = {field.name: field.option_name for field in option_fields(owner)}
            known.update(dict.fromkeys(fields.values()))
            given = [option for option in element.options if _field_name(option) in fields]
            for option in given:
                unused.pop(_field_name(option), None)
            arguments = inner._read(owner, part.options) | self._read(owner, given)
            yield self._construct(owner, element, arguments)
        for option in unused.values():
            what = f"no pass of pipeline '{element.name}' has an option '{option.name}'"
            remedy = suggestion(option.name, known) or f"their options are {choices(known)}"
            raise self._error(option, what, remedy)

    def _class(self, element: PassElement) -> type[ModulePass]:
        factory = self.available.get(element.name)
        if factory is None:
            near = suggestion(element.name, [*self.available, *self.named])
            raise self._error(element, f"unknown pass '{element.name}'", near or "--list-passes names them all")
        return factory()

    def _read(self, owner: type[ModulePass], options: Sequence[Option]) -> dict[str, Any]:
        return read_options(owner, options, self.spec.text, self.spec.source)

    def _construct(self, owner: type[ModulePass], element: PassElement, arguments: dict[str, Any]) -> ModulePass:
        for field in missing_options(owner, arguments):
            what = f"pass '{owner.name}' needs option '{field.option_name}'"
            raise self._error(element, what, f"add {{{field.option_name}=...}}, {describe_type(field.type)}")
        try:
            made = owner(**arguments)
        except (TileError, ValueError) as error:
            # A pass checks its options together in `__post_init__`.
            what = error.what if isinstance(error, TileError) else str(error)
            remedy = error.remedy if isinstance(error, TileError) else ""
            raise self._error(element, f"pass '{owner.name}': {what}", remedy) from error
        if type(made) is not owner:
            what = f"pass '{owner.name}': its class makes objects of class {type(made).__name__}"
            raise self._error(element, what, "a pass is of the class that has its name")
        return made

    def _nested(self, anchor: AnchorElement) -> Iterator[ModulePass]:
        from .function_pass import FunctionPass

        if anchor.name in self.available or anchor.name in self.named:
            raise self._error(anchor, f"'{anchor.name}' is a pass, not an anchor", "give options in braces")
        if anchor.name in MODULE_ANCHORS:
            what = f"'{anchor.name}' cannot be nested or stand beside other passes"
            raise self._error(anchor, what, "write one 'builtin.module(...)' around the whole pipeline")
        if anchor.name != FUNCTION_ANCHOR:
            near = suggestion(anchor.name, (*MODULE_ANCHORS, FUNCTION_ANCHOR))
            what = f"no pass runs on '{anchor.name}'"
            raise self._error(anchor, what, near or "anchors are 'builtin.module', 'any' and 'func.func'")
        for element in anchor.elements:
            if isinstance(element, AnchorElement):
                raise self._error(element, f"'{element.name}' cannot be nested in 'func.func'", "")
            for one in self._pass(element):
                if not isinstance(one, FunctionPass):
                    what = f"pass '{one.name}' runs on the whole module, not on 'func.func'"
                    raise self._error(element, what, f"write '{one.name}' directly in 'builtin.module(...)'")
                yield one

    def _error(self, part: Element | Option, what: str, remedy: str) -> SourceError:
        return SourceError(self.spec.source, self.spec.text, part.span.start, part.span.end, what, remedy)


def _field_name(option: Option) -> str:
    return option.name.replace("-", "_")
