"""Code generation behind the guard: its package has what the last IR says, and every way to have more is rejected."""

from __future__ import annotations

import numpy as np
import pytest
from compilation import lower
from guard_programs import network
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from odd_models import MODELS, build
from sabotage_packages import SABOTAGES, Sabotage, lowered, repeated, rows_of, taking, vector_twice
from tilec.analysis.proxies import FIELDS, Level
from tilec.codegen.build import build_package
from tilec.codegen.contract import code_generation_contract
from tilec.codegen.guarded import guard_package
from tilec.codegen.isa import Op
from tilec.codegen.manifest import Origin
from tilec.codegen.package import Package
from tilec.passes.guard import Guard, GuardError
from tilec.passes.guard_mode import Mode
from xdsl.dialects.builtin import ModuleOp


@pytest.fixture
def module() -> ModuleOp:
    return lowered()


def built(module: ModuleOp) -> Package:
    return build_package(module, Origin("net"), {})


def harm_of(module: ModuleOp, package: Package) -> set[str]:
    guard = Guard(Mode.REPORT, lambda text: None)
    guard_package(guard, module, package, 0.0)
    (found,) = guard.examined
    assert bool(found.fault) == bool(found.harm)
    return {change.field for change in found.harm}


@pytest.mark.parametrize("one", SABOTAGES, ids=[one.edit.__name__ for one in SABOTAGES])
def test_sabotage(module: ModuleOp, one: Sabotage) -> None:
    assert one.fields <= harm_of(module, one.edit(built(module)))
    twin = one.twin(built(module))
    assert not harm_of(module, twin)


def test_the_right_package_is_accepted(module: ModuleOp) -> None:
    assert not harm_of(module, built(module))


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_every_instruction_has_to_be_there_once(module: ModuleOp, data: st.DataObject) -> None:
    """Any one instruction twice, or any one missing that is no scalar one, is rejected."""
    package = built(module)
    row = data.draw(st.integers(0, len(package.program.columns) - 1))
    assert harm_of(module, repeated(package, np.array([row])))
    if package.program.columns.op[row] != Op.SLDI:
        assert harm_of(module, taking(package, np.delete(np.arange(len(package.program.columns)), row)))


def test_a_rejection_names_field_and_values(module: ModuleOp) -> None:
    package = vector_twice(built(module))
    for mode in (Mode.ERROR, Mode.ROLLBACK):
        with pytest.raises(GuardError, match=r"pass 'pim-codegen': .*vector instructions \(vector_count \d+ -> \d+"):
            guard_package(Guard(mode), module, package, 0.0)
    off = Guard(Mode.OFF)
    assert guard_package(off, module, package, 0.0) is package
    warnings: list[str] = []
    guard_package(Guard(Mode.REPORT, warnings.append), module, package, 0.0)
    assert len(warnings) == 1


def test_every_field_of_the_buffers_has_a_meaning_in_the_contract(module: ModuleOp) -> None:
    """No field falls under the rule for what is not mentioned, but for those that mean the same and may improve."""
    guard = Guard()
    guard_package(guard, module, built(module), 0.0)
    before, after = guard.examined[0].before, guard.examined[0].after
    assert before is not None
    assert after is not None
    assert (before.proxies.level, after.proxies.level) == (Level.BUFFERS, Level.PACKAGE)
    known = {name for name in FIELDS if getattr(before.proxies, name) is not None or getattr(after.proxies, name)}
    silent = known - code_generation_contract(module).clauses.keys() - {"lower_bounds"}
    assert silent == {"level", "core_bytes_max", "core_bytes"}


@pytest.mark.parametrize(("weight_bits", "activation_bits"), [(4, 8), (16, 8), (8, 16), (4, 32)])
def test_other_widths(weight_bits: int, activation_bits: int) -> None:
    options = f" weight-bits={weight_bits} activation-bits={activation_bits}"
    module = lower(network(), "tiny4", options)
    assert not harm_of(module, built(module))


def test_a_package_without_products() -> None:
    """Its streams do not tell the width of weights."""
    make, shape = MODELS["relu on the input"]
    module = lower(build(make, *shape), "reference144", " weight-bits=4")
    package = built(module)
    assert not len(rows_of(package, Op.MVMUL))
    assert not harm_of(module, package)
