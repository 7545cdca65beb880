"""The pass manager and its instrumentation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tilec.passes.instrumentation import PassInstrumentation, PassRun
from tilec.passes.ir_printing import IRPrinter, PrintWhen
from tilec.passes.ir_tree import IRTree
from tilec.passes.manager import PassManager, Verifier
from tilec.passes.pass_bug import PassBug
from tilec.passes.statistics import PassStatistics, collect_statistics, record_statistic
from tilec.passes.timing import PassTimer, Timer
from tilec.support.diagnostics import TileError, TileErrors
from tilec.tools.session import Ended
from xdsl.context import Context
from xdsl.dialects import test
from xdsl.dialects.builtin import ModuleOp, StringAttr, i32
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern
from xdsl.utils.exceptions import PassFailedException


@dataclass(frozen=True)
class ActionPass(ModulePass):
    """Does what it is told."""

    name = "action"

    action: Callable[[ModuleOp], object]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.action(op)


@dataclass
class Log(PassInstrumentation):
    """Writes down the calls of its hooks."""

    label: str
    calls: list[str]
    reject: bool = False

    def before_pipeline(self, module: ModuleOp, passes: tuple[ModulePass, ...]) -> None:
        self.calls.append(f"{self.label} begin {len(passes)}")

    def before_pass(self, run: PassRun) -> None:
        self.calls.append(f"{self.label} before {run.index}")

    def after_pass(self, run: PassRun) -> None:
        self.calls.append(f"{self.label} after {run.index}")
        if self.reject:
            raise TileError(run.name, "rejected")

    def after_failed_pass(self, run: PassRun, error: Exception) -> None:
        self.calls.append(f"{self.label} failed {run.index}: {type(error).__name__}")

    def after_pipeline(self, module: ModuleOp) -> None:
        self.calls.append(f"{self.label} end")


@dataclass
class Restore(PassInstrumentation):
    """Undoes every pass, as a guard does."""

    before: list[ModuleOp] = field(default_factory=list)

    def before_pass(self, run: PassRun) -> None:
        self.before.append(run.module.clone())

    def after_pass(self, run: PassRun) -> None:
        kept = self.before.pop()
        run.module.attributes = kept.attributes
        run.module.detach_region(run.module.body)
        run.module.add_region(kept.detach_region(kept.body))


def mark(module: ModuleOp) -> None:
    module.attributes["marked"] = StringAttr("yes")
    module.body.block.add_op(test.TestOp())


def run(*actions: Callable[[ModuleOp], object], watch: list[PassInstrumentation] | None = None) -> ModuleOp:
    module = ModuleOp([])
    PassManager(tuple(ActionPass(action) for action in actions), watch or []).run(Context(), module)
    return module


def fail(error: BaseException) -> Callable[[ModuleOp], object]:
    def action(module: ModuleOp) -> None:
        raise error

    return action


def test_hooks_nest() -> None:
    calls: list[str] = []
    run(mark, watch=[Log("outer", calls), Log("inner", calls)])
    assert calls == [
        "outer begin 1",
        "inner begin 1",
        "outer before 0",
        "inner before 0",
        "inner after 0",
        "outer after 0",
        "inner end",
        "outer end",
    ]


def test_a_failure_reaches_every_instrumentation() -> None:
    calls: list[str] = []
    with pytest.raises(TileError):
        run(fail(TileError("x", "no")), mark, watch=[Log("outer", calls), Log("inner", calls)])
    assert calls[-2:] == ["inner failed 0: TileError", "outer failed 0: TileError"]


def test_a_rejection_is_a_failure_further_out_only() -> None:
    calls: list[str] = []
    with pytest.raises(TileError, match="rejected"):
        run(mark, watch=[Log("outer", calls), Log("guard", calls, reject=True), Log("inner", calls)])
    assert calls[-3:] == ["inner after 0", "guard after 0", "outer failed 0: TileError"]


def test_an_instrumentation_can_undo_a_pass() -> None:
    seen: list[str] = []
    printer = IRPrinter(PrintWhen(after_all=True), lambda title, text, run: seen.append(text))
    module = run(mark, watch=[printer, Restore(), Verifier()])
    assert "marked" not in module.attributes
    assert list(module.ops) == []
    assert "marked" not in seen[0]


class TestErrors:
    def test_user_errors_pass_through(self) -> None:
        with pytest.raises(TileError, match="error: node 'n': too big; shrink it"):
            run(fail(TileError("node 'n'", "too big", "shrink it")))

    def test_failures_of_upstream_passes_are_user_errors(self) -> None:
        with pytest.raises(TileError, match="error: pass 'action': cannot do this"):
            run(fail(PassFailedException("cannot do this")))

    def test_anything_else_is_a_bug(self) -> None:
        with pytest.raises(PassBug, match="pass 'action' failed: KeyError: 'lost'"):
            run(fail(KeyError("lost")))

    @pytest.mark.parametrize("error", [SystemExit(0), SystemExit("all done"), GeneratorExit()])
    def test_a_pass_cannot_end_the_tool(self, error: BaseException) -> None:
        calls: list[str] = []
        with pytest.raises(PassBug, match=f"pass 'action' failed: {type(error).__name__}: {error}"):
            run(fail(error), watch=[Log("watch", calls)])
        assert calls[-1] == "watch failed 0: PassBug"

    @pytest.mark.parametrize("error", [KeyboardInterrupt(), Ended(15)])
    def test_an_interrupt_is_none_of_the_pass(self, error: BaseException) -> None:
        with pytest.raises(type(error)):
            run(fail(error))

    def test_a_bug_in_a_pattern_does_not_print_the_module(self) -> None:
        class Broken(RewritePattern):
            def match_and_rewrite(self, op: object, rewriter: PatternRewriter, /) -> None:
                raise KeyError("lost")

        def rewrite(module: ModuleOp) -> None:
            module.attributes["secret"] = StringAttr("weights")
            module.body.block.add_op(test.TestOp())
            PatternRewriteWalker(Broken()).rewrite_module(module)

        with pytest.raises(PassBug) as caught:
            run(rewrite)
        cause = caught.value.__cause__
        assert cause is not None
        assert not any("weights" in note for note in cause.__notes__)

    def test_invalid_ir_is_blamed_on_the_pass(self) -> None:
        def break_it(module: ModuleOp) -> None:
            definition = test.TestOp(result_types=[i32])
            module.body.block.add_ops([test.TestOp(operands=[definition.results[0]]), definition])

        with pytest.raises(TileErrors) as caught:
            run(break_it, watch=[Verifier()])
        assert "does not dominate this use" in str(caught.value.errors[0])
        assert "pass 'action': left an invalid module" in str(caught.value.errors[-1])


class TestStatistics:
    def test_are_counted_by_pass(self) -> None:
        def count(module: ModuleOp) -> None:
            record_statistic("things")
            record_statistic("things", 2)

        statistics = PassStatistics()
        run(count, mark, count, watch=[statistics])
        assert statistics.by_pass == {(0, "action"): {"things": 3}, (1, "action"): {}, (2, "action"): {"things": 3}}
        counted = ["'action'", "  (S) 3 things"]
        assert statistics.report().splitlines()[3:] == [*counted, "'action'", *counted]

    def test_without_a_collector_nothing_happens(self) -> None:
        record_statistic("things")

    def test_a_failed_pass_stops_collecting(self) -> None:
        statistics = PassStatistics()
        with pytest.raises(TileError):
            run(fail(TileError("x", "no")), watch=[statistics])
        record_statistic("things")
        assert statistics.by_pass == {(0, "action"): {}}

    def test_can_be_collected_by_hand(self) -> None:
        found: dict[str, int] = {}
        with collect_statistics(found):
            record_statistic("things", 4)
        record_statistic("things", 4)
        assert found == {"things": 4}


def test_timing() -> None:
    timer = Timer()
    with timer.phase("Parser"):
        pass
    run(mark, mark, watch=[PassTimer(timer)])
    assert list(timer.seconds) == ["Parser", "action"]
    lines = timer.report().splitlines()
    assert [line.split(")  ")[-1] for line in lines[6:]] == ["Parser", "action", "Rest", "Total"]


class TestPrinting:
    def test_only_changes(self) -> None:
        titles: list[str] = []
        when = PrintWhen(after_change=True)
        printer = IRPrinter(when, lambda title, text, run: titles.append(f"{title} {run.index}"))
        run(lambda module: None, mark, lambda module: None, mark, watch=[printer])
        assert titles == ["After 1", "After 3"]

    def test_a_printer_serves_several_modules(self) -> None:
        titles: list[str] = []
        printer = IRPrinter(PrintWhen(after_change=True), lambda title, text, run: titles.append(title))
        run(mark, watch=[printer])
        run(lambda module: None, watch=[printer])
        assert titles == ["After"]

    def test_tree(self, tmp_path: Path) -> None:
        module = ModuleOp([], sym_name=StringAttr("../net"))
        sink = IRTree(tmp_path)
        PassManager((ActionPass(mark),), [IRPrinter(PrintWhen(after_all=True), sink)]).run(Context(), module)
        assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.mlir")] == [
            "builtin_module_.._net/0_action.mlir"
        ]
