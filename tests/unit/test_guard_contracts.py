"""Contracts: whose they are, what their clauses mean, and that nobody changes one."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import ClassVar

import pytest
from guard_programs import edit_pass, guarded, module_at, network, one_replica, parsed
from tilec.analysis.contract import (
    STRICTEST,
    Clause,
    Contract,
    Kind,
    MappingFunction,
    changes_meaning,
    check,
    constant,
    decided_here,
    may_trade,
    or_part_more,
)
from tilec.analysis.proxies import FIELDS, Level, Proxies
from tilec.analysis.proxy_changes import Verdict
from tilec.dialects.registry import make_context
from tilec.lowering.onnx_importer import import_onnx
from tilec.passes.guard import Guard, GuardedPipeline, GuardError, Mode
from tilec.passes.guard_mode import GuardModePass
from tilec.passes.manager import PassManager, Verifier
from tilec.passes.pass_bug import PassBug
from tilec.passes.pipeline import build_pipeline
from tilec.passes.registry import PASSES, all_passes
from tilec.passes.watch_plan import FOREIGN_CONTRACTS, contract_of
from tilec.tools.tile_opt import main as tile_opt
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.passes import ModulePass
from xdsl.transforms.canonicalize import CanonicalizePass


def test_our_passes_declare_contracts() -> None:
    for name, factory in all_passes().items():
        if PASSES[name].startswith("tilec."):
            contract = vars(factory()).get("contract")
            assert isinstance(contract, Contract), name
            for field, clause in contract.clauses.items():
                assert clause.reason, f"{name} gives no reason for {field}"
                assert clause.kind in (Kind.EQUAL, Kind.CHANGES_MEANING) or clause.mapping is None
                assert clause.mapping is not None or clause.kind is not Kind.CHANGES_MEANING
            assert list(contract.describe())


def test_a_pass_that_declares_nothing_is_held_to_the_strictest() -> None:
    assert contract_of(edit_pass(one_replica)) is STRICTEST


def test_a_contract_is_not_inherited_and_not_had_by_name() -> None:
    parent = all_passes()["spat-merge-graph"]()

    class Renamed(parent):
        pass

    assert contract_of(Renamed) is STRICTEST
    assert contract_of(edit_pass(one_replica, "canonicalize")) is STRICTEST
    assert contract_of(all_passes()["canonicalize"]()) is not STRICTEST


def test_a_contract_that_a_pass_gives_itself_while_it_runs_is_none() -> None:
    class Grants(ModulePass):
        name = "grants"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            type(self).contract = Contract(dict.fromkeys(FIELDS, may_trade("it says so")))
            one_replica(op)

    with pytest.raises(GuardError, match="width_of_node"):
        guarded(Grants(), module_at("graph"))


class NoMethod(ModulePass):
    name = "theirs"
    contract_with_options = "nonsense"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


class RaisingMethod(NoMethod):
    def contract_with_options(self) -> Contract:
        raise SystemExit(0)


class NothingGiven(NoMethod):
    def contract_with_options(self) -> None:
        return None


class NoContract(NoMethod):
    contract = "it may do anything"


@pytest.mark.parametrize(
    ("one", "what"),
    [
        (NoMethod(), "TypeError: its contract_with_options is no method"),
        (RaisingMethod(), "SystemExit: 0"),
        (NothingGiven(), "TypeError: what its contract_with_options gives is of type NoneType, not a Contract"),
        (NoContract(), "TypeError: its contract is of type str, not a Contract"),
    ],
)
def test_an_error_in_a_contract_names_the_pass(one: ModulePass, what: str) -> None:
    with pytest.raises(PassBug) as caught:
        guarded(one, module_at("graph"))
    assert str(caught.value) == f"pass 'theirs' failed: {what}"
    assert not caught.value.is_ours
    guarded(one, module_at("graph"), Mode.OFF)


def test_what_a_user_asks_for_is_no_decision_of_the_pass() -> None:
    """Without replicas, and with rows held back, the yardsticks for both are off; a subclass has no such leave."""
    for text in ("convert-onnx-to-spat{replicate=false}", "spat-schedule-peft{lead=1}"):
        (one,) = build_pipeline(text)
        (usual,) = build_pipeline(text.partition("{")[0])
        assert contract_of(usual) is type(usual).contract
        assert contract_of(one).clauses["span_cycles"] != contract_of(usual).clauses["span_cycles"]
        assert contract_of(one).clauses.keys() == contract_of(usual).clauses.keys()
        assert contract_of(type("Renamed", (type(one),), {})()) is STRICTEST
    passes = build_pipeline("tile-default{machine=tiny4 replicate=false lead=1}")
    PassManager(passes, (Guard(), Verifier())).run(make_context(), import_onnx(network(16).SerializeToString()))


def test_clauses() -> None:
    before, after = Proxies(Level.GRAPH, mvm_count=4), Proxies(Level.GRAPH, mvm_count=6, sends=1)

    def verdicts(contract: Contract) -> dict[str, Verdict]:
        return {change.field: change.verdict for change in check(contract, before, after)}

    assert verdicts(STRICTEST)["mvm_count"] is Verdict.WORSE
    assert verdicts(STRICTEST)["sends"] is Verdict.UNKNOWN
    assert verdicts(Contract({"mvm_count": may_trade("why")}))["mvm_count"] is Verdict.SHOWN
    assert verdicts(Contract({"sends": decided_here("why")}))["sends"] is Verdict.SHOWN
    doubled = changes_meaning(lambda b, a: 2 * (b.mvm_count or 0), "why")
    assert verdicts(Contract({"mvm_count": doubled}))["mvm_count"] is Verdict.BETTER
    helpless = changes_meaning(lambda b, a: None, "why")
    assert verdicts(Contract({"mvm_count": helpless}))["mvm_count"] is Verdict.UNKNOWN
    with pytest.raises(ValueError, match="nonsense"):
        Contract({"nonsense": may_trade("why")})

    with pytest.raises(ValueError, match="has a reason"):
        may_trade("")
    with pytest.raises(TypeError, match="levels are pairs"):
        Contract(levels=((1, 2),))  # pyright: ignore[reportArgumentType]


def _raises(before: Proxies, after: Proxies) -> object:
    raise ValueError("lost")


@pytest.mark.parametrize("mode", [Mode.ERROR, Mode.REPORT, Mode.ROLLBACK])
@pytest.mark.parametrize(
    ("mapping", "why"),
    [
        (_raises, "ValueError: lost"),
        (lambda before, after: sys.exit(0), "SystemExit: 0"),
        (lambda before, after: float("nan"), "the mapping of product_slots gives 'nan'"),
        (lambda before, after: "much", "the mapping of product_slots gives 'much'"),
    ],
)
def test_a_mapping_that_fails_is_a_fault_of_its_pass(mapping: MappingFunction, why: str, mode: Mode) -> None:
    """What is no number is not more than any number, and permits nothing."""

    class Narrowing(ModulePass):
        name = "narrowing"
        contract: ClassVar[Contract] = Contract({"product_slots": changes_meaning(mapping, "why")})

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            one_replica(op)

    module = module_at("graph")
    before = module.clone()
    with pytest.raises(PassBug, match=re.escape(f"pass 'narrowing' failed: {why}") if why[0] != "t" else why):
        PassManager((Narrowing(),), (Guard(mode, lambda text: None),)).run(make_context(), module)
    assert module.is_structurally_equivalent(before) == (mode is Mode.ROLLBACK)


def test_a_mode_may_come_by_its_name() -> None:
    with pytest.raises(GuardError):
        GuardedPipeline([edit_pass(one_replica)], "error").run(make_context(), module_at("graph"))  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="'strict' is not a valid Mode"):
        GuardedPipeline([], "strict").run(make_context(), module_at("graph"))  # pyright: ignore[reportArgumentType]


def test_what_a_contract_allows_does_not_read_like_what_was_there() -> None:
    """A message has the value before, the value after, and what a mapping allows."""

    def told(clause: Clause, name: str, before: object, after: object) -> str:
        sides = [Proxies(Level.GRAPH, **{name: value}) for value in (before, after)]  # pyright: ignore[reportArgumentType]
        (change,) = [one for one in check(Contract({name: clause}), *sides) if one.field == name]
        return str(change)

    eighth = changes_meaning(or_part_more("core_bytes", 8), "why")
    assert told(eighth, "core_bytes", 2488, 3100) == "core_bytes 2488 -> 3100, allowed 2799 (why)"
    assert told(eighth, "core_bytes", 2488, 2500) == "core_bytes 2488 -> 2500, allowed 2799 (why)"
    assert told(eighth, "core_bytes", 2488, 2488) == "core_bytes 2488 -> 2488 (why)"
    yardstick = changes_meaning(constant(7), "why")
    assert told(yardstick, "core_bytes", None, 9) == "core_bytes unknown -> 9, allowed 7 (why)"
    table = changes_meaning(constant((("a", 3), ("b", 4))), "why")
    found = told(table, "product_elements", (("a", 2), ("b", 1)), (("a", 3), ("b", 6)))
    assert found == "product_elements of 'b' 1 -> 6, allowed 4 (why)"
    found = told(table, "product_elements", None, (("a", 3), ("b", 6)))
    assert found == "product_elements of 'b' unknown -> 6, allowed 4 (why)"


def test_a_pass_that_says_it_is_another_one_gets_no_contract_of_that() -> None:
    class Imposter(CanonicalizePass):
        def apply(self, ctx: Context, op: ModuleOp) -> None:
            for one in [one for one in op.walk() if isinstance(one, UnregisteredOp)]:
                one.detach()
                one.erase()

    Imposter.__module__, Imposter.__qualname__ = CanonicalizePass.__module__, CanonicalizePass.__qualname__
    text = 'func.func @main(%a: f32) -> f32 {\n "theirs.note"(%a) : (f32) -> ()\n func.return %a : f32\n}'
    guarded(CanonicalizePass(), parsed(text))
    with pytest.raises(GuardError, match="content of these ops"):
        guarded(Imposter(), parsed(text))


def test_a_contract_cannot_be_changed() -> None:
    """Neither by the pass that has it, nor by one that has none."""
    clauses = {"width_of_node": may_trade("for a test")}
    contract = Contract(clauses)
    clauses["span_cycles"] = may_trade("for a test")
    assert set(contract.clauses) == {"width_of_node"}
    for one in (contract, STRICTEST):
        with pytest.raises(TypeError):
            one.clauses["sends"] = may_trade("for a test")  # pyright: ignore[reportIndexIssue]


ALL_ALLOWED = dict.fromkeys(FIELDS, may_trade("for a test"))


@pytest.mark.parametrize("part", ["contract", "clause"])
def test_the_promise_is_the_one_that_was_made_before_the_pass_ran(part: str) -> None:
    class Cheat(ModulePass):
        name = "cheat"
        contract: ClassVar[Contract] = Contract(dict.fromkeys(FIELDS, decided_here("for a test")))

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            one_replica(op)
            if part == "contract":
                object.__setattr__(self.contract, "clauses", ALL_ALLOWED)
            else:
                for clause in self.contract.clauses.values():
                    object.__setattr__(clause, "kind", Kind.MAY_TRADE)

    with pytest.raises(GuardError, match="width_of_node"):
        guarded(Cheat(), module_at("graph"))


def run_guarded(*passes: ModulePass, level: str = "graph") -> None:
    PassManager(passes, (Guard(), Verifier())).run(make_context(), module_at(level))


def test_a_pass_that_comes_twice_is_held_to_its_first_promise_both_times() -> None:
    class Later(ModulePass):
        name = "later"
        contract: ClassVar[Contract] = Contract()
        runs: ClassVar[int] = 0

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            if Later.runs:
                one_replica(op)
            Later.runs += 1
            Later.contract = Contract(ALL_ALLOWED)

    with pytest.raises(GuardError, match="width_of_node") as caught:
        run_guarded(Later(), Later())
    assert caught.value.index == 1


@pytest.mark.parametrize("gift", ["contract", "name", "mode"])
def test_a_pass_gives_nothing_to_a_later_one(gift: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a contract in its class, nor that of a pass from elsewhere, nor a mode of the guard."""
    worse, mode = edit_pass(one_replica, "worse"), GuardModePass()

    def give(module: ModuleOp) -> None:
        canonicalize = sys.modules[CanonicalizePass.__module__]
        if gift == "contract":
            monkeypatch.setattr(type(worse), "contract", Contract(ALL_ALLOWED), raising=False)
        elif gift == "mode":
            object.__setattr__(mode, "mode", Mode.OFF)
        else:
            type(worse).__module__, type(worse).__qualname__ = canonicalize.__name__, "CanonicalizePass"
            monkeypatch.setattr(canonicalize, "CanonicalizePass", type(worse))
            name = f"{canonicalize.__name__}.CanonicalizePass"
            monkeypatch.setitem(FOREIGN_CONTRACTS, name, Contract(ALL_ALLOWED))

    with pytest.raises(GuardError, match=r"pass 'worse': worse: .*width_of_node"):
        run_guarded(edit_pass(give), mode, worse)


def test_an_error_in_a_contract_is_found_before_anything_runs() -> None:
    ran: list[str] = []
    first = edit_pass(lambda module: ran.append("first"), "first")
    with pytest.raises(PassBug, match="pass 'theirs' failed: TypeError: its contract is of type str"):
        run_guarded(first, NoContract())
    assert not ran
    run_guarded(first, GuardModePass(Mode.OFF, 1), NoContract(), first)
    assert ran == ["first", "first"]
    with pytest.raises(PassBug, match="pass 'theirs'"):
        run_guarded(GuardModePass(Mode.OFF, 1), first, NoContract())
    with pytest.raises(PassBug, match="pass 'theirs'"):
        run_guarded(GuardModePass(Mode.OFF), first, GuardModePass(Mode.REPORT), NoContract())
    assert ran == ["first", "first"]


def test_a_joined_constant_takes_no_more_than_the_op_that_is_gone() -> None:
    """Both constants stay, since others read them; their sum is a third one."""

    def batch(name: str, ops: str) -> str:
        return f"""
        %{name} = spat.compute_batch lanes 4 ins(%x : tensor<4x3x2xf32>) windows [#spat.window<height 4, lanes 4>]
            weights(%c, %d : tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<4x3x2xf32> {{
        ^bb0(%rows: tensor<1x3x2xf32>, %a: tensor<1x2xf32>, %b: tensor<1x2xf32>):
          %row = spat.view %rows row 0 start 0 step 1 : tensor<1x3x2xf32> -> tensor<3x2xf32>
          {ops}
          spat.yield %r : tensor<3x2xf32>
        }}
        spat.output "{name}" shape <i64[4] [1, 2, 4, 3]> channels [#tile.array<i32[2] [0, 1]>] %{name}
          : tensor<4x3x2xf32>"""

    step = "%{} = spat.{} %{}, %{} : tensor<3x2xf32>, tensor<1x2xf32> -> tensor<3x2xf32>"
    both = [step.format("s", "vadd", "row", "a"), step.format("r", "vadd", "s", "b")]
    apart = [step.format("s", "vadd", "row", "a"), step.format("r", "vmul", "s", "b")]
    text = f"""
    func.func @main() {{
      %x = spat.input "x" shape <i64[4] [1, 2, 4, 3]> : tensor<4x3x2xf32>
      %c = spat.constant <f32[1, 2] [1.0, 2.0]> : tensor<1x2xf32>
      %d = spat.constant <f32[1, 2] [3.0, 5.0]> : tensor<1x2xf32>
      {batch("p", chr(10).join(both))}
      {batch("q", chr(10).join(apart))}
      func.return
    }}"""
    (merge,) = build_pipeline("spat-merge-trivial")
    (found,) = guarded(merge, parsed(text)).examined
    assert found.before is not None
    assert found.after is not None
    sizes = [one.proxies.host_bytes for one in (found.before, found.after)]
    assert sizes == [24 * 3 + 4, 24 * 3 + 6]
    (bytes_,) = [change for change in found.changes if change.field == "host_bytes"]
    assert bytes_.allowed == 24 * 3 + 4 + 4 * 24


# Tricks


class Evil(ModulePass):
    name = "evil"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        one_replica(op)


def test_an_object_has_no_code_of_its_own() -> None:
    """What its class does is done, and nothing else: a `guard-mode` is not looked at."""
    module = module_at("graph")
    before = module.clone()
    quiet = GuardModePass(Mode.ERROR)
    vars(quiet)["apply"] = lambda ctx, op: one_replica(op)
    PassManager((quiet,), (Guard(),)).run(make_context(), module)
    assert module.is_structurally_equivalent(before)


def test_a_pass_does_not_become_another_one() -> None:
    later = GuardModePass(Mode.ERROR)

    class Changing(ModulePass):
        name = "changing"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            object.__setattr__(later, "__class__", Evil)

    with pytest.raises(PassBug, match="it was of class GuardModePass before the pipeline"):
        PassManager((Changing(), later), (Guard(),)).run(make_context(), module_at("graph"))


def test_passes_are_those_that_were_given() -> None:
    passes: list[ModulePass] = []

    class Replacing(ModulePass):
        name = "replacing"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            passes[1] = Evil()

    passes += [Replacing(), GuardModePass(Mode.ERROR)]
    module = module_at("graph")
    before = module.clone()
    PassManager(passes, (Guard(),)).run(make_context(), module)  # pyright: ignore[reportArgumentType]
    assert module.is_structurally_equivalent(before)


@pytest.mark.parametrize("name", ["convert-onnx-to-spat", "spat-schedule-peft"])
def test_an_object_has_no_contract_of_its_own(name: str) -> None:
    one = all_passes()[name]()()
    expected = contract_of(one)
    vars(one)["contract"] = Contract({"width": may_trade("why not")})
    assert contract_of(one) is expected


def test_code_of_a_contract_gives_nobody_else_one() -> None:
    """Not to a pass that comes later, whose own has been read, nor by way of a name."""
    lax = Contract(dict.fromkeys(FIELDS, may_trade("why not")))

    class Victim(Evil):
        contract: ClassVar[Contract] = Contract()

    class Giving(ModulePass):
        name = "giving"

        def contract_with_options(self) -> Contract:
            Victim.contract = lax
            return STRICTEST

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            pass

    class Named(ModulePass):
        @property
        def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
            Victim.contract = lax
            return "named"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            pass

    for first in (Giving(), Named()):
        Victim.contract = Contract()
        with pytest.raises(GuardError, match="pass 'evil'"):
            PassManager((first, Victim()), (Guard(),)).run(make_context(), module_at("graph"))


def test_a_class_makes_passes_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plugin, source = tmp_path / "plugin.py", tmp_path / "in.mlir"
    plugin.write_text(
        "from tilec.passes.guard_mode import GuardModePass, Mode\nfrom xdsl.passes import ModulePass\n\n"
        "class Tidy(ModulePass):\n    name = 'tidy'\n\n    def __new__(cls):\n        return GuardModePass(Mode.OFF)\n"
    )
    source.write_text("builtin.module {}\n")
    assert tile_opt([str(source), "--load-pass-plugin", str(plugin), "-p", "tidy"]) == 1
    assert "pass 'tidy': its class makes objects of class GuardModePass" in capsys.readouterr().err
