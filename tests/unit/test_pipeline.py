"""Pass pipelines: the grammar, its meaning, and round trips."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tilec.passes.function_pass import FunctionPass
from tilec.passes.pipeline import build_pipeline, named_pipeline, parse_pipeline, pipeline_text
from tilec.passes.pipeline_parser import parse_elements
from tilec.passes.pipeline_syntax import (
    AnchorElement,
    Group,
    Items,
    Option,
    PassElement,
    Scalar,
    plain_elements,
    print_elements,
)
from tilec.support.source import SourceError
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass


class Color(Enum):
    RED = "red"
    DARK_BLUE = "dark-blue"


@dataclass(frozen=True)
class Nested:
    depth: int = 1
    name: str = "n"
    weights: tuple[float, ...] = ()


@dataclass(frozen=True)
class EverythingPass(ModulePass):
    name = "everything"

    count: int = 1
    ratio: float = 1.0
    text: str = ""
    is_on: bool = False
    sizes: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    pair: tuple[int, str] = (0, "")
    color: Color = Color.RED
    level: Literal["low", "high"] = "low"
    limit: int | None = None
    label: str | None = None
    either: int | str = 0
    nested: Nested = Nested()

    def apply(self, ctx: Context, op: ModuleOp) -> None: ...


@dataclass(frozen=True)
class SizedPass(ModulePass):
    name = "sized"

    count: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None: ...


@dataclass(frozen=True)
class NeedyPass(ModulePass):
    name = "needy"

    machine: str

    def apply(self, ctx: Context, op: ModuleOp) -> None: ...


@dataclass(frozen=True)
class LocalPass(FunctionPass):
    name = "local"

    def apply_to_function(self, ctx: Context, function: FuncOp) -> None: ...


AVAILABLE = {one.name: lambda one=one: one for one in (EverythingPass, SizedPass, NeedyPass, LocalPass)}
NAMED = {"both": "everything,sized{count=3}", "all": "sized,needy"}


def build(text: str) -> tuple[ModulePass, ...]:
    return build_pipeline(parse_pipeline(text, "-p"), AVAILABLE, NAMED)


def one(options: str) -> EverythingPass:
    (built,) = build(f"everything{{{options}}}")
    assert isinstance(built, EverythingPass)
    return built


def error(text: str) -> SourceError:
    with pytest.raises(SourceError) as caught:
        build(text)
    return caught.value


class TestSyntax:
    @pytest.mark.parametrize(
        "text",
        [
            "sized,local",
            "builtin.module(sized,local)",
            "any(sized,local)",
            " builtin.module (\n  sized ,\n\tlocal )\n",
            "builtin.module(sized{},local{ })",
            "builtin.module(sized,func.func(local))",
            "builtin.module( sized , func.func ( local ) )",
        ],
    )
    def test_accepted(self, text: str) -> None:
        assert build(text) == (SizedPass(), LocalPass())

    @pytest.mark.parametrize("text", ["", " \n", "builtin.module()", "builtin.module( )", "any()"])
    def test_empty(self, text: str) -> None:
        assert build(text) == ()

    @pytest.mark.parametrize(
        ("text", "column"),
        [
            ("sized,", 7),
            (",sized", 1),
            ("sized,,local", 7),
            ("sized local", 7),
            ("sized)", 6),
            ("builtin.module(sized", 21),
            ("builtin.module(sized))", 22),
            ("builtin.module(sized,)", 22),
            ("builtin.module(sized) local", 23),
            ("sized{count=1", 14),
            ("sized{count==1}", 13),
            ("sized{=1}", 7),
            ("sized{count=1,}", 15),
            ("everything{count=1,ratio=2}", 25),
            ("everything{text='abc}", 17),
            ('everything{text="abc}', 17),
            ("sized{count=(1)}", 13),
            ("sized{count=}", 13),
            ("{count=1}", 1),
        ],
    )
    def test_errors_point_at_the_column(self, text: str, column: int) -> None:
        found = error(text)
        assert (found.line, found.column) == (1, column)
        source, caret = found.excerpt.split("\n")
        assert source.strip() == text.strip()
        assert caret.index("^") - 2 == column - 1

    def test_errors_know_their_line(self) -> None:
        found = error("builtin.module(\n  sized,\n  missing)")
        assert found.where == "-p:3:3"
        assert found.excerpt == "    missing)\n    ^^^^^^^"

    def test_long_lines_are_cut_around_the_error(self) -> None:
        found = error(",".join(["sized"] * 200 + ["missing"] + ["sized"] * 200))
        source, caret = found.excerpt.split("\n")
        assert len(source) <= 122
        assert source[caret.index("^") :].startswith("missing")

    def test_deep_nesting_is_no_problem(self) -> None:
        depth = 10_000
        assert "cannot be nested" in str(error("any(" * depth + ")" * depth))
        assert "takes an integer" in str(error("sized{count=" + "{a=" * depth + "1" + "}" * depth + "}"))


class TestValues:
    @pytest.mark.parametrize(
        ("options", "field", "value"),
        [
            ("count=3", "count", 3),
            ("count=-3", "count", -3),
            ("count=0x1F", "count", 31),
            ("count=007", "count", 7),
            ('count="3"', "count", 3),
            ("ratio=1", "ratio", 1.0),
            ("ratio=1e-3", "ratio", 0.001),
            ("ratio=inf", "ratio", float("inf")),
            ("is_on", "is_on", True),
            ("is-on", "is_on", True),
            ("is-on=true", "is_on", True),
            ("is-on=1", "is_on", True),
            ("is-on=false", "is_on", False),
            ("is-on=0", "is_on", False),
            ("text=plain", "text", "plain"),
            ("text=/tmp/a.b-c_d:e", "text", "/tmp/a.b-c_d:e"),
            ('text="with, {all} (kinds) = of"', "text", "with, {all} (kinds) = of"),
            ("text='single \"quotes\"'", "text", 'single "quotes"'),
            (r'text="a\"b\\c\nd"', "text", 'a"b\\c\nd'),
            ("text=none", "text", "none"),
            ("text=true", "text", "true"),
            ("sizes=1", "sizes", (1,)),
            ("sizes=1,2", "sizes", (1, 2)),
            ("sizes=1 , 2", "sizes", (1, 2)),
            ("sizes={1,2}", "sizes", (1, 2)),
            ("sizes={1}", "sizes", (1,)),
            ("sizes={}", "sizes", ()),
            ('names="a b",c', "names", ("a b", "c")),
            ('names={"a b"}', "names", ("a b",)),
            ("pair=1,x", "pair", (1, "x")),
            ("color=dark-blue", "color", Color.DARK_BLUE),
            ("level=high", "level", "high"),
            ("limit=4", "limit", 4),
            ("limit=none", "limit", None),
            ("label=none", "label", None),
            ('label="none"', "label", "none"),
            ("either=4", "either", 4),
            ("either=four", "either", "four"),
            ('either="4"', "either", "4"),
            ("nested={}", "nested", Nested()),
            ("nested={depth=2 weights=1,2.5}", "nested", Nested(2, "n", (1.0, 2.5))),
        ],
    )
    def test_accepted(self, options: str, field: str, value: object) -> None:
        assert getattr(one(options), field) == value

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ("count=1.5", "option 'count' of pass 'everything' takes an integer"),
            ("count=", "expected"),
            ("count=1_000", "takes an integer"),
            ("count=" + "9" * 5000, "takes an integer"),
            ("count=1,2", "takes an integer"),
            ("count={a=1}", "takes an integer"),
            ("count", "no value is given"),
            ("ratio=much", "takes a number"),
            ("is-on=yes", "takes 'true' or 'false'"),
            ("sizes=1,b", "takes a list, each an integer"),
            ("sizes={1 2}", "separate the items by ','"),
            ("pair=1", "takes a list of 2: an integer, a string; 1 given"),
            ("color=rde", "one of 'red', 'dark-blue'; did you mean 'red'?"),
            ("level=hih", "one of 'low', 'high'; did you mean 'high'?"),
            ("limit=few", "takes an integer or 'none'"),
            ("nested=1", "takes options {depth=... name=... weights=...}"),
            ("nested={dept=1}", "has no option 'dept'; did you mean 'depth'?"),
            ("coutn=1", "has no option 'coutn'; did you mean 'count'?"),
            ("count=1 count=1", "is given twice"),
            ("is-on is_on", "is given twice"),
        ],
    )
    def test_refused(self, options: str, message: str) -> None:
        assert message in str(error(f"everything{{{options}}}"))

    def test_required_options(self) -> None:
        assert "needs option 'machine'; add {machine=...}, a string" in str(error("needy"))
        assert build("needy{machine=m}") == (NeedyPass("m"),)


class TestNames:
    def test_unknown_passes_get_a_suggestion(self) -> None:
        assert str(error("sizde")).startswith("error: -p:1:1: unknown pass 'sizde'; did you mean 'sized'?\n")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("func.func(sized)", "pass 'sized' runs on the whole module, not on 'func.func'"),
            ("func.fun(local)", "no pass runs on 'func.fun'; did you mean 'func.func'?"),
            ("scf.for(local)", "no pass runs on 'scf.for'; anchors are"),
            ("sized(local)", "'sized' is a pass, not an anchor"),
            ("builtin.module(any(sized))", "'any' cannot be nested"),
            ("builtin.module(sized),sized", "'builtin.module' cannot be nested or stand beside other passes"),
            ("func.func(func.func(local))", "'func.func' cannot be nested in 'func.func'"),
        ],
    )
    def test_anchors(self, text: str, message: str) -> None:
        assert message in str(error(text))

    def test_named_pipelines_expand(self) -> None:
        assert build("both") == (EverythingPass(), SizedPass(3))
        assert build("sized,both{count=5 ratio=2}") == (SizedPass(), EverythingPass(5, 2.0), SizedPass(5))
        assert build("all{machine=m}") == (SizedPass(), NeedyPass("m"))

    def test_options_of_named_pipelines_go_somewhere(self) -> None:
        found = error("both{cuont=1}")
        assert "no pass of pipeline 'both' has an option 'cuont'; did you mean 'count'?" in str(found)
        assert found.column == 6


# Round trips

words = st.text("abcdefghijklmnopqrstuvwxyz0123456789._-/:+[]", min_size=1)
scalars = st.builds(Scalar, words) | st.builds(Scalar, st.text(), st.just(True))


def options(values: st.SearchStrategy[Scalar | Items | Group]) -> st.SearchStrategy[tuple[Option, ...]]:
    return st.lists(st.builds(Option, words, st.none() | values), max_size=3).map(tuple)


lists = st.lists(scalars, min_size=2, max_size=3).map(lambda items: Items(tuple(items)))
quoted_item = st.text().map(lambda text: Items((Scalar(text, True),)))
values = st.recursive(scalars | lists | quoted_item, lambda inner: options(inner).map(Group), max_leaves=5)
passes = st.builds(PassElement, words, options(values))
elements = st.recursive(passes, lambda inner: st.builds(AnchorElement, words, st.lists(inner).map(tuple)), max_leaves=6)

instances = st.builds(
    EverythingPass,
    ratio=st.floats(allow_nan=False),
    nested=st.builds(Nested, weights=st.lists(st.floats(allow_nan=False)).map(tuple)),
)


@given(st.lists(elements).map(tuple))
def test_syntax_round_trip(tree: tuple[PassElement | AnchorElement, ...]) -> None:
    assert parse_pipeline(print_elements(tree)).elements == tree


@given(instances | st.builds(SizedPass) | st.builds(NeedyPass) | st.just(LocalPass()), st.booleans())
def test_passes_round_trip(built: ModulePass, include_defaults: bool) -> None:
    assert build(pipeline_text((built, SizedPass()), include_defaults)) == (built, SizedPass())


@given(st.text("builtin.module(){}=,\"' \\\nabc1", max_size=40))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    with suppress(SourceError):
        build(text)


@given(st.text("ab-1,{}()=\"' \n", max_size=8))
def test_plain_lists_are_what_the_grammar_makes_of_them(text: str) -> None:
    found = plain_elements(text)
    try:
        expected = parse_elements(text, "pipeline")
    except SourceError:
        assert found is None
        return
    if found is not None:
        assert found == expected
        assert [element.span for element in found] == [element.span for element in expected]
    else:
        plain = all(isinstance(element, PassElement) and not element.options for element in expected)
        assert not plain or not expected or any(blank in text for blank in "{ \n")


def test_a_named_pipeline_is_what_its_text_says() -> None:
    spec = named_pipeline("tile-default", {"machine": 'a"\\,b', "samples": 2, "replicate": False}, "here")
    assert spec.text == r"""tile-default{machine="a\"\\,b" samples=2 replicate=false}"""
    assert spec.elements == parse_elements(spec.text, "here")
