"""Machine code of kernels: the translation to LLVM, and where the result is kept."""

from __future__ import annotations

import ast
import ctypes
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import llvmlite.binding as llvm
import pytest
from tilec.simulators.timing.compiled import CLOCK as CLOCK_KERNEL
from tilec.simulators.timing.kernel import heaps
from tilec.simulators.timing.kernel.layout import CHIP, CLOCK, EDGES, WAITS, Facts, State
from tilec.support import machine_code
from tilec.support.llvm_text import llvm_module

SOURCE = '''
def divide(state, a, b):
    quotient, rest = a // b, a % b
    return quotient * 1000 + rest

def shortcut(state, a, n):
    """Reads no place that does not exist."""
    if a < n and state.table[a] > 10 or a >= n and not (a in (WIDE, n)):
        return 1
    return 0 if a < n else -1

def loop(state, n):
    total = 0
    for place in range(n):
        if place == 3:
            continue
        if place > 8:
            break
        total += state.table[place] if place & 1 else min(place, 5) << 2
        place = 100
    for place in range(n - 2, n):
        total += 7 * place
    count = n
    while count > 0:
        count -= 1
        if count == 2:
            break
    return total * 100 + count

def update(state, a):
    state.table[a] += facts.step
    state.cost_pj[0] += state.cost_pj[1]
    state.table[a + 1] = max(state.table[a], -a) | 6
    return fixed(state, a)

def fixed(state, a):
    flag = a == 3
    return (a >> 1) + (flag or a > 5) - -2

def swap(column: Column, a, b):
    column[a], column[b] = column[b], column[a] + 1
    return b

def turn(column: Column, a, b):
    return swap(column, swap(column, a, b), a + b)

def narrow(state, a, b):
    state.small_u8[0] = a
    state.small_u8[1] += b
    state.short_i32[0] = state.small_u8[0] - state.small_u8[1]
    state.short_i32[1] -= b
    return state.short_i32[0] * 1000 + state.short_i32[1]

def run(state, which, a, b):
    if which == 0:
        return divide(state, a, b)
    elif which == 5:
        return narrow(state, a, b)
    elif which == 4:
        return turn(state.table, a, b)
    elif which == 1:
        return shortcut(state, a, b)
    elif which == 2:
        return loop(state, a)
    return update(state, a)
'''
CONSTANTS = {"WIDE": 17}
Function = Callable[[int, int, int], tuple[int, list[int], list[float]]]


@pytest.fixture(scope="module")
def interpreted() -> Function:
    def call(which: int, a: int, b: int) -> tuple[int, list[int], list[float]]:
        state = SimpleNamespace(table=list(range(5, 25)), cost_pj=[0.5, 0.25], small_u8=[0, 7], short_i32=[0, -(2**30)])
        names: dict[str, Any] = {**CONSTANTS, "facts": SimpleNamespace(step=7), "Column": list[int]}
        exec(SOURCE, names)
        return int(names["run"](state, which, a, b)), state.table, state.cost_pj

    return call


@pytest.fixture(scope="module")
def translated() -> Function:
    functions = [node for node in ast.parse(SOURCE).body if isinstance(node, ast.FunctionDef)]
    names = ["facts.step", "state.table", "state.cost_pj", "state.small_u8", "state.short_i32"]
    text = llvm_module(functions, CONSTANTS, names, "run")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text)
    module.verify()
    target = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine()
    engine = llvm.create_mcjit_compiler(module, target)
    engine.finalize_object()
    numbers = [ctypes.c_int64] * 3
    run = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, *numbers)(engine.get_function_address("run"))

    def call(which: int, a: int, b: int) -> tuple[int, list[int], list[float]]:
        step, table = (ctypes.c_int64 * 1)(7), (ctypes.c_int64 * 20)(*range(5, 25))
        cost = (ctypes.c_double * 2)(0.5, 0.25)
        small, short = (ctypes.c_uint8 * 2)(0, 7), (ctypes.c_int32 * 2)(0, -(2**30))
        columns = (ctypes.c_void_p * 5)(*(ctypes.addressof(column) for column in (step, table, cost, small, short)))
        return run(columns, which, a, b), list(table), list(cost)

    call.engine = engine  # type: ignore[attr-defined]
    return call


CALLS = [(0, a, b) for a in (-7, -6, 0, 6, 7, 2**40) for b in (-3, 3, 2**20)]
CALLS += [(1, a, b) for a in (0, 5, 6, 7, 16, 17, 19) for b in (6, 17)]
CALLS += [(2, n, 0) for n in (0, 1, 2, 3, 4, 9, 15)] + [(3, a, 0) for a in range(8)]
CALLS += [(4, a, b) for a in (0, 3, 7) for b in (1, 7, 12)]
CALLS += [(5, a, b) for a in (0, 127, 255) for b in (-7, 0, 100, 248)]


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_the_translation_means_the_same(
    interpreted: Function, translated: Function, call: tuple[int, int, int]
) -> None:
    assert translated(*call) == interpreted(*call)


def test_what_cannot_be_translated_is_named() -> None:
    (function,) = ast.parse("def run(state, a):\n    with a:\n        pass").body
    assert isinstance(function, ast.FunctionDef)
    with pytest.raises(AssertionError, match="run: cannot translate with a"):
        llvm_module([function], {}, [], "run")


def test_it_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine_code.can_compile()
    monkeypatch.setattr(machine_code, "_OLDEST_LLVM", (10**6, 0, 0))
    assert not machine_code.can_compile()
    monkeypatch.undo()
    monkeypatch.setenv("TILE_NO_LLVM", "1")
    assert not machine_code.can_compile()


# Where it is kept


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], list[Path]]]:
    """Loads the loop as a new process would, and tells what is kept then."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def load() -> list[Path]:
        machine_code.function.cache_clear()
        assert machine_code.function(CLOCK_KERNEL)
        return sorted((tmp_path / "tile").glob("*.o"))

    yield load
    machine_code.function.cache_clear()


def test_it_is_made_once(fresh: Callable[[], list[Path]], monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = fresh()
    monkeypatch.setattr(machine_code.Kernel, "text", lambda _: pytest.fail("it is made again"))
    assert fresh() == [path]


def test_damaged_code_is_not_loaded(fresh: Callable[[], list[Path]]) -> None:
    (path,) = fresh()
    content = path.read_bytes()
    for damage in (b"", content[:-1], content[:40] + bytes([content[40] ^ 1]) + content[41:]):
        path.write_bytes(damage)
        assert fresh() == [path]
        assert path.read_bytes() == content


def test_only_the_last_versions_are_kept(fresh: Callable[[], list[Path]], tmp_path: Path) -> None:
    (tmp_path / "tile").mkdir()
    for number in range(20):
        (tmp_path / "tile" / f"clock-{number}.o").touch()
    assert len(fresh()) == 8


def test_no_place_to_keep_it_is_no_error(fresh: Callable[[], list[Path]], tmp_path: Path) -> None:
    (tmp_path / "tile").write_text("in the way")
    assert fresh() == []


# Idle ticks


class Clockwork:
    """The simulator's heap with a clock of period 10 in it."""

    def __init__(self, times: list[int]) -> None:
        self.facts = Facts(**dict.fromkeys(Facts._fields, 0))._replace(period=10)
        room = len(times) + 1
        self.state = State(**{name: [0] * room for name in State._fields})._replace(chip=[0] * CHIP)
        for thread, time in enumerate(times):
            heaps.insert_wait(self.state, time, thread)
        heaps.insert_wait(self.state, 10, CLOCK)

    def tick(self) -> None:
        now = self.state.wait_time[0]
        assert heaps.extract_wait(self.state) == CLOCK
        heaps.insert_wait(self.state, now + 10, CLOCK)

    def content(self) -> tuple[list[int], list[int]]:
        count = self.state.chip[WAITS]
        return self.state.wait_time[:count], self.state.wait_thread[:count]


@pytest.mark.parametrize("seed", range(200))
def test_skipped_ticks_leave_the_heap_as_ticks_do(seed: int) -> None:
    """Heaps with many ties, whose first wait ends after up to 500 ticks; an edge of a core may come before it."""
    rng = random.Random(seed)
    first = rng.randrange(20, 5000)
    times = [first + rng.choice([0, 0, 1, 5, 5, 9]) for _ in range(rng.randrange(1, 40))]
    skipping, ticking = Clockwork(times), Clockwork(times)
    end = min(times)
    if rng.random() < 0.3:
        end = rng.randrange(2, end // 10 + 1) * 10 + 1
        skipping.state.chip[EDGES] = 1
        skipping.state.edge_time[0] = end - 1
    heaps.skip_idle_ticks(skipping.facts, skipping.state, 1 << 40)
    while ticking.state.wait_time[0] + 10 < end:
        ticking.tick()
    assert skipping.content() == ticking.content()
