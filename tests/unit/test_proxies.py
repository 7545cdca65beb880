"""The proxies of programs whose numbers are counted by hand, and of the same program at every level."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from compilation import package_of
from guard_programs import LEVELS, module_at, network, parsed
from one_batch import one_batch
from tilec.analysis.critical_path import (
    PLACES,
    Boundaries,
    Events,
    LaneTimes,
    SpanBatch,
    core_span,
    cut_lanes,
    replica_span,
)
from tilec.analysis.machine import Machine
from tilec.analysis.proxies import COUNTS, FIELDS, Better, Level, Proxies, Survey
from tilec.analysis.proxy_changes import Change, Verdict, compare, judge
from tilec.analysis.window import RowWindow
from tilec.codegen.package_proxies import package_proxies
from tilec.dialects.registry import make_context
from tilec.lowering.onnx_importer import import_onnx
from tilec.lowering.proxies import proxies
from tilec.passes.guard import blame
from tilec.passes.manager import PassManager
from tilec.passes.pipeline import build_pipeline
from xdsl.dialects.builtin import StringAttr

SEED_LIST = {
    "ir_ops", "ir_values", "compute_instances", "graph_lanes", "scheduled_lanes", "width", "span_cycles", "step_count",
    "work_cycles", "assignment", "busy_cycles", "busy_cycles_max", "mvm_count", "vector_count", "sends", "send_bytes",
    "receives", "receive_bytes", "byte_hops", "instructions", "instructions_max", "local_copies", "local_copy_bytes",
    "host_to_device_copies", "host_to_device_bytes", "device_to_host_copies", "device_to_host_bytes", "host_bytes",
    "weight_elements", "logical_core_bytes", "physical_core_bytes", "core_bytes_max", "host_ops", "recomputed",
}  # fmt: skip


def test_nothing_of_the_list_is_left_out() -> None:
    assert SEED_LIST <= FIELDS.keys()


def test_conv_by_hand() -> None:
    found = proxies(import_onnx(network().SerializeToString()))
    assert found.level is Level.ONNX
    assert found.macs == 8 * 8 * 8 * (4 * 9) + 8 * 8 * 8 * (8 * 9)
    assert dict(found.lanes_of_node or ())["conv1"] == 8
    assert found.layer_elements == (("conv1", 512), ("conv2", 512))
    # conv with bias 2, relu 1, conv 1, add 1, pool 1
    assert found.step_count == 6
    assert found.span_cycles is None
    assert found.host_ops is None


def test_depths_by_hand() -> None:
    found = proxies(import_onnx(network().SerializeToString()))
    elements = 8 * 8 * 8
    # Steps: conv 1 with its bias 2, relu 3, conv 4, add 5; of a quarter of the elements, pool 6.
    assert found.pass_depths == elements * (1 + 2 + 3 + 4 + 5) + elements // 4 * 6
    first = elements * 4 * 9  # multiplications of the first convolution
    second = first + 2 * elements + elements * 8 * 9  # with its bias and the relu before the second one
    pool = second + 2 * elements  # 2 x 2 elements for each of a quarter
    quick = (first, first + elements, first + 2 * elements, second, second + elements)
    assert found.work_depths == elements * sum(quick) + elements // 4 * pool


def test_recomputation_within_a_body() -> None:
    one = "%a = spat.relu %row : tensor<4x2xf32>\n spat.yield %a : tensor<4x2xf32>"
    two = """%a = spat.relu %row : tensor<4x2xf32>
    %b = spat.relu %row : tensor<4x2xf32>
    %c = spat.vadd %a, %b : tensor<4x2xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
    spat.yield %c : tensor<4x2xf32>"""
    assert proxies(parsed(one_batch(one))).recomputed == 0
    assert proxies(parsed(one_batch(two))).recomputed == 4


def test_without_a_machine_cycles_are_those_of_the_reference_machine() -> None:
    body = "%a = spat.relu %row : tensor<4x2xf32>\n spat.yield %a : tensor<4x2xf32>"
    module = parsed(one_batch(body))
    found = proxies(module)
    assert found.level is Level.GRAPH
    assert (found.vector_count, found.graph_lanes, found.scheduled_lanes) == (4, 4, None)
    module.attributes["tile.machine"] = StringAttr("reference144")
    named = proxies(module)
    assert found.machine is None
    assert named.machine is not None
    assert (found.span_cycles, found.work_cycles) == (named.span_cycles, named.work_cycles)


@pytest.mark.parametrize("level", LEVELS)
def test_same_program_same_record(level: str) -> None:
    assert proxies(module_at(level)) == proxies(module_at(level))


def test_a_record_survives_json() -> None:
    for level in LEVELS:
        found = proxies(module_at(level))
        assert Proxies.from_json(json.loads(json.dumps(found.to_json()))) == found
        assert found.text()


def test_scheduled_levels_agree() -> None:
    """What placement decides is the same number in all three representations of it."""
    scheduled, tensors, buffers = (proxies(module_at(level)) for level in ("scheduled", "tensors", "buffers"))
    names = ("sends", "send_bytes", "byte_hops", "host_to_device_copies", "device_to_host_bytes", "mvm_count")
    for name in (*names, "vector_count", "span_cycles", "makespan_cycles", "busy_cycles", "assignment", "step_count"):
        assert getattr(scheduled, name) == getattr(tensors, name) == getattr(buffers, name) is not None, name


def test_package_has_what_the_module_has() -> None:
    module = module_at("buffers")
    PassManager(build_pipeline("pim-plan-memory")).run(make_context(), module)
    before = proxies(module)
    after = package_proxies(package_of(module), Machine.load("tiny4"))
    for name in ("mvm_count", "vector_count", "sends", "send_bytes", "receives", "byte_hops", "width"):
        assert getattr(before, name) == getattr(after, name), name
    assert before.instructions is not None
    assert after.instructions is not None
    assert before.instructions <= after.instructions


def test_verdicts() -> None:
    assert judge("mvm_count", 4, 4) is Verdict.EQUAL
    assert judge("mvm_count", 4, 5) is Verdict.WORSE
    assert judge("mvm_count", 4, 3) is Verdict.BETTER
    assert judge("width", 4, 3) is Verdict.WORSE
    assert judge("mvm_count", 4, None) is Verdict.UNKNOWN
    assert judge("mvm_count", None, 4) is Verdict.UNKNOWN
    assert judge("machine", "a", "b") is Verdict.CHANGED
    assert judge("ir_ops", 4, 9) is Verdict.SHOWN
    assert judge("lanes_of_node", (("a", 4),), (("a", 3),)) is Verdict.WORSE
    assert judge("lanes_of_node", (("a", 4),), ()) is Verdict.SHOWN
    assert judge("product_elements", (("a", 4),), (("b", 4),)) is Verdict.WORSE
    assert all(verdict.is_harm for verdict in (Verdict.WORSE, Verdict.CHANGED, Verdict.UNKNOWN))


def test_of_a_table_what_got_worse_is_shown() -> None:
    before, after = (("a", 90), ("b", 10), ("c", 10)), (("a", 20), ("b", 15), ("c", 11))
    assert str(Change("product_elements", before, after, Verdict.WORSE)) == "product_elements of 'b' 10 -> 15"
    assert str(Change("width_of_node", after, before, Verdict.WORSE)) == "width_of_node of 'b' 15 -> 10"
    assert str(Change("width_of_node", before, (("b", 9),), Verdict.WORSE)) == "width_of_node of 'b' 10 -> 9"
    # Where nothing did, what differs most.
    assert str(Change("busy_cycles", before, (("a", 20), ("b", 9)), Verdict.SHOWN)) == "busy_cycles of 'a' 90 -> 20"


def test_nodes_at_fault_are_those_that_got_worse() -> None:
    parts = {"vector_count": {"good": 90, "bad": 10}}, {"vector_count": {"good": 20, "bad": 11}}
    before, after = (Survey(Proxies(Level.GRAPH), one) for one in parts)
    assert blame("vector_count", before, after) == ["node 'bad'"]
    assert blame("makespan_cycles", before, after) == ["node 'bad'"]


def test_every_field_is_judged_or_shown() -> None:
    record = Proxies(Level.GRAPH)
    for field in dataclasses.fields(Proxies):
        assert isinstance(field.metadata["better"], Better)
        assert field.metadata["title"]
        if field.name in COUNTS or field.type == "int | None":
            changed = dataclasses.replace(record, **{field.name: (("a", 1),) if field.name in COUNTS else 1})
            (change,) = [c for c in compare(record, changed) if c.field == field.name]
            assert change.verdict in (Verdict.UNKNOWN, Verdict.SHOWN)


def test_replica_span() -> None:
    chain = RowWindow(4, 4)
    assert replica_span([SpanBatch(4, 4, 10)]) == 10
    assert replica_span([SpanBatch(4, 1, 10)]) == 40
    assert replica_span([SpanBatch(4, 1, 10), SpanBatch(4, 4, 5, ((0, chain),))]) == 45
    whole = RowWindow(4, 1, rows=4)
    assert replica_span([SpanBatch(4, 2, 10), SpanBatch(1, 1, 5, ((0, whole),))]) == 25


CYCLE_BY_CYCLE = Boundaries.of(np.zeros(2, np.int64), [np.arange(21)])
"""Of two lanes of 20 cycles that have an instruction at each."""


def test_core_span_waits_for_messages() -> None:
    def event(key: int, core: int, partner: int, cycles: int, makes: int, needs: list[int]) -> Events:
        one = [np.array([value]) for value in (key, core, partner, cycles, cycles, 0, makes)]
        return Events(*one, np.array(needs, np.int64), np.array([len(needs)]))

    lane, message, reader = event(0, 0, -1, 10, 0, []), event(1, 0, 1, 3, 0, [0]), event(2, 1, -1, 5, 1, [0])
    assert core_span(Events.join([lane, message, reader])) == (18, 0)
    assert core_span(Events.join([lane, reader]), shared=True) == (15, 0)
    assert core_span(Events.join([lane, reader])) == (10, 1), "nothing waits for what nobody brings"


def test_a_row_is_through_before_the_next_one() -> None:
    """Core 0 sends two rows, for 3 cycles each, that take 8 to be there, of which 7 until they have left the network;
    then it works, and core 3 sends it one."""

    def message(key: int, source: int, target: int, row: int) -> Events:
        one = [np.array([value]) for value in (key, source, target, 3, 8, 7, row)]
        return Events(*one, np.array([row]), np.array([1]))

    def lane(key: int, core: int, cycles: int, needs: int) -> Events:
        one = [np.array([value]) for value in (key, core, -1, cycles, cycles, 0, -1)]
        return Events(*one, np.array([needs]), np.array([1]))

    sent = [message(0, 0, 1, 0), message(1, 0, 2, 1)]
    assert core_span(Events.join(sent)).cycles == 7 + 8
    assert core_span(Events.join([*sent, lane(2, 0, 6, 0)])).cycles == 7 + 3 + 6
    assert core_span(Events.join([*sent, lane(2, 0, 3, 0), message(3, 3, 0, 2)])).cycles == 2 * 7 + 8


def test_messages_cut_lanes() -> None:
    """Two lanes of 20 cycles without a plan: one over 10 steps, of which three have a message, one over 40 steps."""
    at = np.array([103, 104, 109, PLACES + 119, PLACES + 140])
    core, step, none = np.array([0, 1]), np.array([100, 100]), np.zeros((0, 3), np.int64)
    pieces = cut_lanes(LaneTimes(core, step, np.array([10, 40]), np.array([20, 20]), none), at, CYCLE_BY_CYCLE)
    assert pieces.lane.tolist() == [0, 0, 0, 1, 1]
    assert pieces.start.tolist() == [100, 104, 105, 100, 120]
    assert pieces.cycles.tolist() == [8, 2, 10, 10, 10]
    assert pieces.is_first.tolist() == [True, False, False, True, False]
    assert pieces.is_last.tolist() == [False, False, True, False, True]


def test_interruptions_cut_lanes() -> None:
    """The second of two lanes of 20 cycles goes on 12 steps late behind its 8th cycle, and 4 more behind its 15th; one
    message comes in the first interruption, one where it runs."""
    resumes = np.array([[1, 8, 20], [1, 15, 31]])
    core, step = np.array([0, 0]), np.array([100, 200])
    times = LaneTimes(core, step, np.array([20, 36]), np.array([20, 20]), resumes)
    pieces = cut_lanes(times, np.array([208, 222]), CYCLE_BY_CYCLE)
    assert pieces.lane.tolist() == [0, 1, 1, 1, 1, 1]
    assert pieces.start.tolist() == [100, 200, 209, 220, 223, 231]
    assert pieces.cycles.tolist() == [20, 8, 0, 3, 4, 5]
    assert pieces.is_first.tolist() == [True, True, False, False, False, False]
    assert pieces.is_last.tolist() == [True, False, False, False, False, True]


def test_lanes_are_cut_between_two_instructions() -> None:
    """Two lanes of two bodies: one has instructions at 0, 5, 6 and 18, the other one alone."""
    core, step, none = np.array([0, 1]), np.array([100, 100]), np.zeros((0, 3), np.int64)
    times = LaneTimes(core, step, np.array([20, 40]), np.array([20, 20]), none)
    bodies = Boundaries.of(np.array([0, 1]), [np.array([0, 5, 6, 18, 20]), np.array([0, 20])])
    pieces = cut_lanes(times, np.array([102, 105, PLACES + 119]), bodies)
    assert pieces.start.tolist() == [100, 103, 106, 100, 120]
    assert pieces.cycles.tolist() == [5, 1, 14, 20, 0]
