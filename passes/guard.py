"""The guard: computes runtime proxies before and after each pass, and rejects what breaks the pass's contract.

A pass declares a `contract`; one that declares nothing may make nothing worse. What cannot be compared is rejected too.
"""

from __future__ import annotations

import gc
import json
import resource
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Protocol

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..analysis.contract import Contract, check
from ..analysis.proxies import FIELDS, Better, Survey
from ..analysis.proxy_changes import Change, Verdict, harm_by_name
from ..dialects.block_looks import BlockLooks
from ..lowering.proxies_opaque import is_idle_network, is_opaque, opaque_survey
from ..support.diagnostics import TileError
from .guard_mode import Mode
from .instrumentation import PassInstrumentation, PassRun
from .pass_bug import PassBug
from .watch_plan import Watch, WatchPlan

MOST_CHANGES = 4
MOST_NODES = 3
"""That a message names: the worst ones."""

REMEDY = (
    "this is a fault of the pass, not of the model: --guard=report compiles the model all the same, and --guard-report "
    "FILE.json writes what the authors of the pass need to correct it or its contract"
)
"""For those who use a pass, and for those who write one."""

UNCHECKED = "--guard=report goes on all the same, unchecked"


class _Survey(Protocol):
    """:meth:`.proxies.Surveyor.survey`, which is loaded late."""

    def __call__(self, module: ModuleOp) -> Survey: ...


@dataclass(frozen=True)
class _NoSurvey:
    """Why there are no proxies of a program. What cannot be computed is no permission."""

    reason: str
    remedy: str = ""


class GuardError(TileError):
    """A pass breaks its contract, or there is nothing that its result could be compared with."""

    def __init__(
        self, where: str, what: str, remedy: str, harm: Sequence[Change] = (), index: int | None = None
    ) -> None:
        self.harm = tuple(harm)
        self.index = index
        """The pass's position in the pipeline; None for what is no pass of one."""
        super().__init__(where, what, remedy)


@dataclass(frozen=True)
class Examined:
    """What the guard found of one pass."""

    name: str
    mode: Mode
    before: Survey | None
    after: Survey | None
    changes: tuple[Change, ...]
    fault: str
    """What is wrong, in words; empty if nothing is."""
    seconds: float
    """Of the pass."""
    remedy: str = REMEDY
    """For the fault: it is the pass's, unless there was nothing to compare its result with."""

    @property
    def harm(self) -> list[Change]:
        return [change for change in self.changes if change.verdict.is_harm]

    @property
    def lowers(self) -> bool:
        """Whether the pass went to another level."""
        return any(change.field == "level" and change.before != change.after for change in self.changes)

    def to_json(self) -> dict[str, object]:
        return {
            "pass": self.name,
            "mode": self.mode.value,
            "verdict": "rejected" if self.fault else "not examined" if self.after is None else "accepted",
            "fault": self.fault,
            "seconds": round(self.seconds, 6),
            "before": None if self.before is None else self.before.proxies.to_json(),
            "after": None if self.after is None else self.after.proxies.to_json(),
            "changes": [
                {"field": c.field, "verdict": c.verdict.value, "reason": c.reason}
                for c in self.changes
                if c.verdict is not Verdict.EQUAL
            ],
        }


def _warn(text: str) -> None:
    sys.stderr.write(text + "\n")


@dataclass
class Guard(PassInstrumentation):
    """Watches a pipeline. It belongs outside the verifier, so that it sees valid modules only."""

    mode: Mode = Mode.ERROR
    warn: Callable[[str], None] = _warn
    examined: list[Examined] = field(default_factory=list[Examined])

    _plan: WatchPlan | None = field(default=None, init=False)
    """For the passes of this pipeline."""
    _before: Survey | _NoSurvey | None = field(default=None, init=False)
    _last: Survey | _NoSurvey | None = field(default=None, init=False)
    _maker: str = field(default="", init=False)
    """The last pass that got a module with proxies, and whose result was kept: if there are none now, it is from there.
    Empty for the input."""
    _idle: bool = field(default=False, init=False)
    """Whether the pass got a network without layers, and takes it for one."""
    _saved: ModuleOp | None = field(default=None, init=False)
    _survey: _Survey | None = field(default=None, init=False)
    """For the modules of one pipeline, which have much in common."""
    _looks: BlockLooks | None = field(default=None, init=False)
    """At the module of this pipeline."""
    _begin: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        """A ValueError if there is no such mode."""
        self.mode = Mode(self.mode)  # It may come by its name.

    def load(self) -> None:
        """Loads what surveys need before there is something to look at, as passes are."""
        _surveyor(None)

    def before_pipeline(self, module: ModuleOp, passes: tuple[ModulePass, ...]) -> None:
        self._last = self._survey = self._looks = None
        self._maker = ""
        self._plan = WatchPlan.of(passes, self.mode)

    def before_pass(self, run: PassRun) -> None:
        self._looks = run.looks
        self._before = self._saved = None
        watch = self._watch(run)
        if watch is None:
            return
        if watch.mode is not Mode.OFF:
            self._idle = watch.contract.idle_networks and is_idle_network(run.module)
            self._before = self._look(run.module) if self._idle or self._last is None else self._last
        if watch.mode is Mode.ROLLBACK:
            self._saved = run.module.clone()
        self._begin = perf_counter()

    def after_pass(self, run: PassRun) -> None:
        seconds = perf_counter() - self._begin
        watch = self._watch(run)
        if watch is None:
            return
        before, self._last = self._before, None
        maker = self._maker
        if not isinstance(before, _NoSurvey):
            self._maker = run.name
        if before is None:
            self.examined.append(Examined(run.name, watch.mode, None, None, (), "", seconds))
            return
        after = self._look(run.module)
        self._last = None if self._idle else after  # The next pass may see nothing in what is a network to this one.
        try:
            found = _examine(run.name, watch.contract, watch.mode, before, after, maker, seconds)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # In a mapping of the contract, which is the pass's.
            bug = PassBug.of(run.one, run.name, error)
            self.after_failed_pass(run, bug)
            raise bug from error
        self.examined.append(found)
        if not found.fault:
            return
        if watch.mode is Mode.ERROR:
            raise _error(found, before, maker, run.index)
        if watch.mode is Mode.ROLLBACK:
            assert self._saved is not None
            _restore(run.module, self._saved)
            self._last = None if self._idle else before
            self._maker = maker
        done = "its change is undone" if watch.mode is Mode.ROLLBACK else "reported only"
        self.warn(_warning(found, done))

    def after_failed_pass(self, run: PassRun, error: Exception) -> None:
        """What a pass leaves that fails, or whose result does not verify, is undone like what breaks its contract. The
        error is raised all the same: who catches it has the module from before the pass."""
        if self._saved is not None:
            _restore(run.module, self._saved)

    def examine_result(
        self,
        name: str,
        contract: Callable[[], Contract],
        module: ModuleOp,
        look: Callable[[], Survey],
        seconds: float,
    ) -> None:
        """Judges what was made of the module at the end of the pipeline, which is no module any more, like a pass.

        ``look`` surveys it; an error there is no permission. Raises a GuardError if the contract is broken and the mode
        is not report: with nothing to go back to, rollback is an error too.
        """
        mode = self.mode if self._plan is None else self._plan.mode_at_end
        if mode is Mode.OFF:
            self.examined.append(Examined(name, mode, None, None, (), "", seconds))
            return
        if self._looks is not None:
            self._looks.begin()
        self._idle = False
        before = self._look(module) if self._last is None else self._last
        found = _examine(name, contract(), mode, before, _attempt(look), self._maker, seconds)
        self.examined.append(found)
        if found.fault and mode is not Mode.REPORT:
            raise _error(found, before, self._maker)
        if found.fault:
            self.warn(_warning(found, "reported only"))

    def _look(self, module: ModuleOp) -> Survey | _NoSurvey:
        """The proxies of a module, or why there are none."""
        if is_opaque(module) and not (self._idle and is_idle_network(module)):
            return opaque_survey(module)
        survey = self._survey = self._survey or _surveyor(self._looks)
        return _attempt(lambda: _survey_or_say(survey, module))

    def _watch(self, run: PassRun) -> Watch | None:
        assert self._plan is not None, "before_pipeline was not called"
        return self._plan.watches[run.index]

    def explained(self, error: Exception) -> TileError | None:
        """The reason for an error later in the pipeline, if it is that the guard has undone a pass that the rest needs:
        one that lowers, or one that the error asks for."""
        undone = [found for found in self.examined if found.fault and found.mode is Mode.ROLLBACK]
        missing = [found for found in undone if found.lowers]
        what, remedy = str(error), ""
        if isinstance(error, TileError):
            what, remedy = f"{error.where}: {error.what}", error.remedy
        if remedy.startswith("run "):
            missing += [found for found in undone if found.name in remedy] or undone[-1:]
        if not missing:
            return None
        first = missing[0]
        what = f"it was undone, and what comes after it needs it ({what}): {first.fault}"
        return TileError(f"guard: pass '{first.name}'", what, first.remedy)

    def report(self) -> str:
        """Everything that was examined, as JSON text, with the compiler's own time and memory."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        content = {
            "format": "tile-guard-report 1",
            "wall_seconds": round(sum(found.seconds for found in self.examined), 6),
            "peak_rss_bytes": peak,
            "passes": [found.to_json() for found in self.examined],
        }
        return json.dumps(content, indent=1) + "\n"


@dataclass
class GuardedPipeline:
    """Any xDSL passes, each behind the guard."""

    passes: Sequence[ModulePass]
    mode: Mode = Mode.ERROR

    def run(self, context: Context, module: ModuleOp) -> list[Examined]:
        """Applies the passes. Raises a GuardError if one breaks its contract and the mode is error, and a ValueError if
        there is no such mode. In mode rollback, a pass that fails leaves the module as it was before."""
        from .manager import PassManager, Verifier

        guard = Guard(self.mode)
        PassManager(tuple(self.passes), (guard, Verifier())).run(context, module)
        return guard.examined


def _surveyor(looks: BlockLooks | None) -> _Survey:
    """Looks at the modules of a pipeline. Loaded late: a tool that works on other dialects need not load numpy."""
    from ..lowering.proxies import Surveyor

    return Surveyor(looks).survey


def _survey_or_say(survey: _Survey, module: ModuleOp) -> Survey:
    """A survey. Where it breaks, since a pass has left a program that its machine has no cores for, what is wrong."""
    try:
        return survey(module)
    except TileError:
        raise
    except Exception:
        from ..lowering.machine_fit import require_fitting_machine

        require_fitting_machine(module)
        raise


def _attempt(look: Callable[[], Survey]) -> Survey | _NoSurvey:
    """What ``look`` finds, or why it finds nothing.

    Garbage collection is off meanwhile: ``look`` makes many objects, which are all gone when it ends, and would set off
    collections that go through everything the compiler holds.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        return look()
    except TileError as error:
        return _NoSurvey(f"{error.where}: {error.what}", error.remedy)
    except Exception as error:
        return _NoSurvey(f"{type(error).__name__}: {error}")
    finally:
        if collects:
            gc.enable()


def _examine(
    name: str,
    contract: Contract,
    mode: Mode,
    before: Survey | _NoSurvey,
    after: Survey | _NoSurvey,
    maker: str,
    seconds: float,
) -> Examined:
    """What the guard finds of a pass that ran on what the pass ``maker`` had left."""
    if isinstance(before, _NoSurvey):
        fault = f"cannot be compared: {_unknown(before, maker)}"
        return Examined(name, mode, None, None, (), fault, seconds, before.remedy or UNCHECKED)
    if isinstance(after, _NoSurvey):
        fault = f"the proxies after it cannot be computed ({after.reason})"
        return Examined(name, mode, None, None, (), fault, seconds)
    changes = tuple(check(contract, before.proxies, after.proxies))
    harm = [change for change in changes if change.verdict.is_harm]
    harm.sort(key=lambda change: change.field in _DIGESTS)  # They say least.
    fault = "; ".join(_describe(change, before, after) for change in harm[:MOST_CHANGES])
    if len(harm) > MOST_CHANGES:
        fault += f"; and {len(harm) - MOST_CHANGES} more"
    return Examined(name, mode, before, after, changes, fault, seconds)


_DIGESTS = frozenset(("assignment", "order", "opaque_digest"))


def _unknown(found: _NoSurvey, maker: str) -> str:
    whose = f"what pass '{maker}' left" if maker else "the input"
    return f"the proxies of {whose} cannot be computed ({found.reason})"


def _error(found: Examined, before: Survey | _NoSurvey, maker: str, index: int | None = None) -> GuardError:
    """It names the pass only if the fault is its own."""
    if isinstance(before, _NoSurvey):
        return GuardError("guard", _unknown(before, maker), found.remedy, index=index)
    return GuardError(f"guard: pass '{found.name}'", found.fault, found.remedy, found.harm, index)


def _warning(found: Examined, done: str) -> str:
    remedy = "" if found.remedy in (REMEDY, UNCHECKED) else f"; {found.remedy}"
    return f"warning: guard: pass '{found.name}': {found.fault}; {done}{remedy}"


def _describe(change: Change, before: Survey, after: Survey) -> str:
    words = {Verdict.WORSE: "worse", Verdict.CHANGED: "changed", Verdict.UNKNOWN: "not comparable"}
    nodes = blame(change.field, before, after)
    where = f" at {', '.join(nodes)}" if nodes else ""
    return f"{words[change.verdict]}: {change.title} ({change}){where}"


def blame(name: str, before: Survey, after: Survey) -> list[str]:
    """The nodes whose part of a field got worse by most; of a field of the whole program, those whose parts changed."""
    old, new = before.contributions.get(name), after.contributions.get(name)
    if old is None or new is None or old == new:
        shared = [part for part in before.contributions if part in after.contributions]
        deltas: dict[str, int] = {}
        for part in shared:
            better = FIELDS[part].better if part in FIELDS else Better.SAME
            for node, delta in harm_by_name(before.contributions[part], after.contributions[part], better).items():
                deltas[node] = max(deltas.get(node, 0), delta)
    else:
        deltas = harm_by_name(old, new, FIELDS[name].better)
    worst = sorted(deltas.items(), key=lambda item: (-item[1], item[0]))[:MOST_NODES]
    return [_named(node) for node, _ in worst]


def _named(part: str) -> str:
    """What stands for a part of a field: a node, an op between angle brackets, or there, a fault in words."""
    if not part.startswith("<"):
        return f"node '{part}'"
    return part[1:-1] if " " in part else f"op {part[1:-1]}"


def _restore(module: ModuleOp, saved: ModuleOp) -> None:
    """Puts the content of ``saved`` back into ``module``, which may be in any state."""
    old = module.regions
    for region in old:
        region.parent = None
    module.regions = ()
    module.add_region(saved.detach_region(saved.body))
    module.attributes = dict(saved.attributes)
    module.properties = dict(saved.properties)
    module.location = saved.location
    for region in old:
        region.drop_all_references()
