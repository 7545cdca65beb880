"""Whatever is valid prints as text that parses back to the same, in every form that `tile-opt` prints."""

from __future__ import annotations

import random

import pytest
from compilation import parse_module
from guard_programs import LEVELS, module_at
from random_edits import edit_at_random
from tilec.passes.ir_text import PrintOptions, ir_text
from tilec.passes.verifier import verify_module
from tilec.support.diagnostics import TileError
from xdsl.dialects.builtin import ModuleOp

TRIES = 40

FORMS = [PrintOptions(generic, locations) for generic in (False, True) for locations in (False, True)]


def is_valid(module: ModuleOp) -> bool:
    try:
        verify_module(module)
    except TileError:
        return False
    return True


def require_round_trips(module: ModuleOp, what: str) -> None:
    for form in FORMS:
        text = ir_text(module, form)
        again = parse_module(text)
        verify_module(again)
        # What parses has places in the text instead of no location.
        without = PrintOptions(form.generic)
        assert ir_text(again, without) == ir_text(module, without), what
        if form.debuginfo:
            assert ir_text(parse_module(ir_text(again, form)), form) == ir_text(again, form), what


@pytest.mark.parametrize("level", LEVELS)
def test_valid_modules_print_and_parse_back(level: str) -> None:
    draw, module = random.Random(f"print {level}"), module_at(level)
    require_round_trips(module, level)
    edited = 0
    for _ in range(TRIES):
        copy = module.clone()
        edit = edit_at_random(copy, draw)
        if is_valid(copy):
            require_round_trips(copy, edit)
            edited += 1
    assert edited > TRIES // 10


@pytest.mark.parametrize(
    "text", ["pim.program {}", "pim.program {\n}", '"pim.program"() ({}) : () -> ()', "builtin.module {}", ""]
)
def test_empty_bodies(text: str) -> None:
    module = parse_module(text)
    require_round_trips(module, text)
