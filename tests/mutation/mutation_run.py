"""Runs mutants of the compiler: does the guard, the IR verifier, or the numerical check notice what was broken?

A mutant is one pass with one thing wrong in it. It runs on the program as the passes before it left it, behind the
guard and the verifier; then the other passes compile the program, and its package is run and compared with onnxruntime.
What the mutant costs is measured on the package: on the clock, and in counts.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np
from compilation import TOLERANCE, Tensors, random_inputs, run_onnxruntime, simulate
from mutation_programs import MACHINES, PROGRAMS, SAMPLES, pipeline_of
from programs import same_programs
from tilec.analysis.contract import Contract
from tilec.analysis.machine import Machine
from tilec.analysis.proxies import FIELDS, Proxies
from tilec.analysis.proxy_changes import Verdict, compare
from tilec.codegen.build import build_package
from tilec.codegen.guarded import guard_package
from tilec.codegen.manifest import Origin
from tilec.codegen.package import Package
from tilec.codegen.package_proxies import package_proxies
from tilec.codegen.stream_check import check_stream
from tilec.dialects import pim
from tilec.dialects.registry import make_context
from tilec.lowering.onnx_importer import import_onnx
from tilec.passes.guard import Examined, Guard, Mode
from tilec.passes.ir_text import PrintOptions, ir_text
from tilec.passes.manager import PassManager, Verifier
from tilec.passes.pipeline import build_pipeline
from tilec.passes.watch_plan import contract_of
from tilec.simulators.timing import simulate as clock
from tilec.support.diagnostics import TileError
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

CODE_GENERATION = "pim-codegen"
"""The stage that is no pass."""

Edit = Callable[[ModuleOp], None]
PackageEdit = Callable[[Package], Package]


class Caught(Enum):
    """Who notices a mutant."""

    GUARD = "guard only"
    NUMERICS = "numerics only"
    BOTH = "both"
    VERIFIER = "verifier"
    NEITHER = "neither"


@dataclass(frozen=True)
class Mutant:
    """One pass with one thing wrong in it."""

    stage: str
    """The pass."""
    name: str
    wrong: str
    """What a programmer got wrong, in a sentence."""
    caught: Caught
    edit: Edit | None = None
    """What the wrong code would have done to the pass's result."""
    package_edit: PackageEdit | None = None
    """The same of code generation."""
    patches: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict[str, Callable[[Any], Any]])
    """By dotted name, from the right function to the wrong one, which stands for it while the pass runs."""
    program: str = "residual"
    fields: tuple[str, ...] = ()
    """Proxies that the guard has to name."""
    costs: bool = True
    """Whether the package gets worse by it: slower on the clock, larger in a count, or fuller in memory."""
    why: str = ""
    """Why nobody notices, if nobody does; why the package is no worse, if it is not."""

    @property
    def id(self) -> str:
        return f"{self.stage}: {self.name}"


@dataclass(frozen=True)
class Finding:
    """What became of a mutant."""

    guard: tuple[str, ...]
    """Proxies that the guard rejects."""
    verifier: str
    """What the verifier, or a check within the pass, says."""
    numerics: str
    """What is wrong with the outputs, or why there are none."""
    costs: tuple[str, ...] = ()
    """What is worse in the package than without the mutation; nothing is known if there is none."""
    recorded: tuple[str, ...] = ()
    """Proxies that are worse than those of the right build, after the pass or in the package: what `tile-report diff`
    says of two versions of the compiler."""

    @property
    def caught(self) -> Caught:
        if self.verifier:
            return Caught.VERIFIER
        if self.guard:
            return Caught.BOTH if self.numerics else Caught.GUARD
        return Caught.NUMERICS if self.numerics else Caught.NEITHER


def mutated(original: ModulePass, mutant: Mutant) -> ModulePass:
    """The pass with what is wrong in it, under its name and with its contract."""

    class MutatedPass(ModulePass):
        name = original.name
        contract: ClassVar[Contract] = contract_of(original)

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            with patched(mutant):
                original.apply(ctx, op)
            if mutant.edit is not None:
                mutant.edit(op)

    return MutatedPass()


@contextmanager
def patched(mutant: Mutant) -> Generator[None]:
    """Within it, wrong functions stand for the right ones."""
    with ExitStack() as stack:
        for target, wrong in mutant.patches.items():
            stack.enter_context(patch(target, wrong(_named(target))))
        yield


def _named(target: str) -> Any:
    """What a dotted name stands for; an AttributeError if the compiler has it no more."""
    from importlib import import_module

    parts = target.split(".")
    for count in range(len(parts) - 1, 0, -1):
        try:
            found: Any = import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            found = getattr(found, part)
        return found
    raise AttributeError(f"there is no {target}")


def examine(mutant: Mutant) -> Finding:
    """Runs one mutant. An AssertionError if it breaks nothing."""
    if mutant.stage == CODE_GENERATION:
        return _examine_code(mutant)
    passes = build_pipeline(pipeline_of(mutant.program))
    (index,) = [position for position, one in enumerate(passes) if one.name == mutant.stage]
    module = before(mutant.program, mutant.stage).clone()
    guard = Guard(Mode.REPORT, lambda text: None)
    try:
        PassManager((mutated(passes[index], mutant),), (guard, Verifier())).run(make_context(), module)
    except Exception as error:
        return Finding((), _first_line(error), "")
    (found,) = guard.examined
    assert full_text(module) != full_text(after(mutant.program, mutant.stage)), f"{mutant.id} breaks nothing"
    recorded = survey_after(mutant.program, mutant.stage)
    harm, worse = _harm(found), _against(recorded, found)
    try:
        PassManager(passes[index + 1 :], (Verifier(),)).run(make_context(), module)
        package = package_of(module)
        wrong = differences(package, mutant.program)
    except Exception as error:
        return Finding(harm, "", f"does not run: {_first_line(error)}", recorded=worse)
    costs = _costs(mutant.program, module, package)
    return Finding(harm, "", wrong, costs, worse + _proxies_of(costs))


def _examine_code(mutant: Mutant) -> Finding:
    """The same for code generation, which the stream check verifies."""
    module = last_module(mutant.program)
    with patched(mutant):
        package = build_package(module, Origin("model"), {})
    if mutant.package_edit is not None:
        package = mutant.package_edit(package)
    right = right_build(mutant.program).package
    same = same_programs(package.program, right.program) and package.memory.size_bytes == right.memory.size_bytes
    assert not same, f"{mutant.id} breaks nothing"
    if faults := check_stream(package.program, package.weights, package.memory.size_bytes):
        return Finding((), str(faults[0]), "")
    guard = Guard(Mode.REPORT, lambda text: None)
    guard_package(guard, module, package, 0.0)
    (found,) = guard.examined
    harm = _harm(found)
    try:
        wrong = differences(package, mutant.program)
    except Exception as error:
        return Finding(harm, "", f"does not run: {_first_line(error)}")
    costs = _costs(mutant.program, module, package)
    return Finding(harm, "", wrong, costs, _proxies_of(costs))


def package_of(module: ModuleOp) -> Package:
    """The package of a module, without the guard."""
    package = build_package(module, Origin("model"), {})
    faults = check_stream(package.program, package.weights, package.memory.size_bytes)
    assert not faults, faults[0]
    return package


def _proxies_of(costs: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the costs that are proxies of the package."""
    return tuple(cost for cost in costs if cost in FIELDS)


def _harm(found: Examined) -> tuple[str, ...]:
    """The proxies for which the guard rejects; what it says if none can be compared."""
    return tuple(change.field for change in found.harm) or ((found.fault,) if found.fault else ())


def _against(recorded: Examined, found: Examined) -> tuple[str, ...]:
    """The proxies that a comparison with the right build rejects."""
    if recorded.after is None or found.after is None:
        return ()
    changes = compare(recorded.after.proxies, found.after.proxies)
    return tuple(change.field for change in changes if change.verdict.is_harm)


def differences(package: Package, program: str) -> str:
    """What is wrong with a package's outputs, in words."""
    inputs, expected = reference(program)
    found = simulate(package, inputs)
    for name, value in expected.items():
        scale = float(np.abs(value).max()) or 1.0
        error = float(np.abs(found[name] - value).max()) / scale
        if not error <= TOLERANCE:
            return f"{name} differs by {error:.2g} of its scale"
    return ""


def _costs(program: str, module: ModuleOp, package: Package) -> tuple[str, ...]:
    """What got worse by the clock, in the counts of the package, or in local memory."""
    right = right_build(program)
    mine = Build.of(module, package, program)
    found = [change.field for change in compare(right.proxies, mine.proxies) if change.verdict is Verdict.WORSE]
    if mine.latency_ns > right.latency_ns:
        found.insert(0, f"clock {right.latency_ns:.0f} -> {mine.latency_ns:.0f} ns")
    if mine.peak_bytes > right.peak_bytes:
        found.append("local memory")
    return tuple(found)


@dataclass(frozen=True)
class Build:
    """A finished program and its numbers."""

    package: Package
    proxies: Proxies
    latency_ns: float
    peak_bytes: int

    @staticmethod
    def of(module: ModuleOp, package: Package, program: str) -> Build:
        machine = Machine.load(MACHINES[program])
        timing = clock(package.program, machine)
        assert timing.finished
        (chip,) = [op for op in module.walk() if isinstance(op, pim.ProgramOp)]
        assert chip.peak_bytes is not None
        return Build(package, package_proxies(package, machine), timing.latency_ns, int(chip.peak_bytes.array.max()))


# What all mutants of a program share


@cache
def _stages(program: str) -> dict[str, tuple[ModuleOp, ModuleOp]]:
    """The module before and after each pass of the right compiler."""
    module = import_onnx(PROGRAMS[program]().SerializeToString())
    found: dict[str, tuple[ModuleOp, ModuleOp]] = {}
    for one in build_pipeline(pipeline_of(program)):
        start = module.clone()
        PassManager((one,), (Verifier(),)).run(make_context(), module)
        found[one.name] = start, module.clone()
    return found


def before(program: str, stage: str) -> ModuleOp:
    return _stages(program)[stage][0]


def after(program: str, stage: str) -> ModuleOp:
    return _stages(program)[stage][1]


@cache
def survey_after(program: str, stage: str) -> Examined:
    """What the guard finds of the right pass."""
    guard = Guard(Mode.REPORT, lambda text: None)
    (one,) = [one for one in build_pipeline(pipeline_of(program)) if one.name == stage]
    PassManager((one,), (guard,)).run(make_context(), before(program, stage).clone())
    (found,) = guard.examined
    return found


@cache
def right_build(program: str) -> Build:
    module = last_module(program)
    return Build.of(module, package_of(module), program)


def last_module(program: str) -> ModuleOp:
    """What code generation starts from."""
    return after(program, "pim-plan-memory")


@cache
def reference(program: str) -> tuple[Tensors, Tensors]:
    """Random inputs and onnxruntime's outputs, sample by sample."""
    model = PROGRAMS[program]()
    inputs = [random_inputs(model, seed) for seed in range(SAMPLES.get(program, 1))]
    return _joined(inputs), _joined([run_onnxruntime(model, one) for one in inputs])


def _joined(samples: list[Tensors]) -> Tensors:
    return {name: np.concatenate([one[name] for one in samples]) for name in samples[0]}


def full_text(module: ModuleOp) -> str:
    return ir_text(module, PrintOptions(debuginfo=True))


def _first_line(error: Exception) -> str:
    text = str(error) if isinstance(error, TileError) else f"{type(error).__name__}: {error}"
    return (text.splitlines() or [type(error).__name__])[0]
