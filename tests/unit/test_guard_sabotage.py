"""Sabotage: every trade that is forbidden, tried at every level where it is possible. Each is rejected for the right
reason, and its innocent twin, the same shape of change without the harm, is accepted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import sabotage_edits as edits
import sabotage_networks as networks
import sabotage_packages as packages
import sabotage_plans as plans
import sabotage_texts as texts
from compilation import parse_module
from forbidden_trades import IMPOSSIBLE, LEVELS, Trade, table
from guard_programs import becomes, harm_by, harm_of, module_at
from ir_edits import Edit
from sabotage_texts import last_module, lowered, packaged
from tilec.codegen.guarded import guard_package
from tilec.passes.guard import Guard, Mode
from xdsl.dialects.builtin import ModuleOp

GUARD = Path(__file__).parents[2] / "docs" / "guard.md"


# Networks


@dataclass(frozen=True)
class NetworkSabotage:
    trades: tuple[Trade, ...]
    good: Callable[[], ModuleOp]
    bad: Callable[[], ModuleOp]
    fields: tuple[str, ...]
    """All of them are among the reasons."""
    twin: Callable[[], ModuleOp] = networks.renamed

    @property
    def name(self) -> str:
        return self.bad.__name__


NETWORKS = (
    NetworkSabotage(
        (Trade.FEWER_LANES, Trade.COARSER, Trade.ONE_LOOP),
        networks.plain,
        networks.flat,
        ("compute_instances", "lanes_of_node"),
    ),
    NetworkSabotage((Trade.SCALAR,), networks.plain, networks.row_by_row, ("lanes_of_node",)),
    NetworkSabotage(
        (Trade.LOCAL_COPIES, Trade.HIDDEN_COPY),
        networks.plain,
        networks.there_and_back,
        ("element_passes", "step_count"),
    ),
    NetworkSabotage((Trade.HOST_COPIES,), networks.plain, networks.one_more_output, ("interface",)),
    NetworkSabotage((Trade.INSTRUCTIONS,), networks.plain, networks.scaled_apart, ("element_passes", "step_count")),
    NetworkSabotage(
        (Trade.LONGER_PATH,),
        networks.tree_of_sums,
        networks.chain_of_sums,
        ("step_count",),
        networks.other_tree_of_sums,
    ),
    NetworkSabotage(
        (Trade.LONGER_PATH,),
        networks.tree_beside_activations,
        networks.chain_beside_activations,
        ("pass_depths",),
        networks.tree_beside_activations,
    ),
    NetworkSabotage(
        (Trade.LONGER_PATH,),
        networks.slow_added_last,
        networks.slow_added_first,
        ("work_depths",),
        networks.quick_ones_commuted,
    ),
    NetworkSabotage(
        (Trade.LONGER_PATH,),
        networks.slow_compared_last,
        networks.slow_compared_first,
        ("work_depths",),
        networks.quick_ones_compared_in_turn,
    ),
    NetworkSabotage((Trade.HOST_COPIES,), networks.plain, networks.largest_of_zeros, ("constant_elements",)),
    NetworkSabotage(
        (Trade.INSTRUCTIONS,),
        networks.layer_of_concat,
        networks.layer_of_each_part,
        ("layer_rows", "element_passes"),
        networks.layer_of_concat_in_another_order,
    ),
    NetworkSabotage(
        (Trade.INSTRUCTIONS,),
        networks.grouped_layer,
        networks.layer_of_each_group,
        ("layer_rows",),
        networks.grouped_layer_of_other_weights,
    ),
)


@pytest.mark.parametrize("one", NETWORKS, ids=[one.name for one in NETWORKS])
def test_networks(one: NetworkSabotage) -> None:
    assert set(one.fields) <= harm_of(becomes(one.bad()), one.good())
    assert not harm_of(becomes(one.twin()), one.good())


def test_a_chain_does_no_harm_but_to_the_path() -> None:
    paths = {"step_count", "pass_depths", "work_depths", "work_of_output"}
    assert harm_of(becomes(networks.chain_of_sums()), networks.tree_of_sums()) == paths


def test_a_slow_operand_is_told_by_its_work_alone() -> None:
    longer = {"work_depths", "work_of_output"}
    assert harm_of(becomes(networks.slow_added_first()), networks.slow_added_last()) == longer
    assert not harm_of(becomes(networks.slow_added_last()), networks.slow_added_first())


def test_what_one_output_gains_does_not_pay_for_another() -> None:
    assert harm_of(becomes(networks.other_slow_added_last()), networks.one_slow_added_last()) == {"work_of_output"}
    assert not harm_of(becomes(networks.both_slow_added_last()), networks.one_slow_added_last())


def test_what_a_relu_has_done_need_not_be_done_again() -> None:
    assert not harm_of(becomes(networks.plain()), networks.relu_twice())
    assert "element_passes" in harm_of(becomes(networks.relu_twice()), networks.plain())


# Graphs as text, and what becomes of them


@dataclass(frozen=True)
class TextSabotage:
    trades: tuple[Trade, ...]
    name: str
    good: str
    bad: str
    fields: dict[str, tuple[str, ...]]
    """By level, all of them are among the reasons."""


def at_all_levels(
    graph: tuple[str, ...], placed: tuple[str, ...], package: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    return {"graph": graph, **dict.fromkeys(("scheduled", "tensors", "buffers"), placed), "package": package}


WIDTH = at_all_levels(
    ("compute_instances", "width", "span_cycles"),
    ("compute_instances", "scheduled_lanes", "width", "span_cycles", "makespan_cycles", "busy_cycles_max"),
    ("width", "makespan_cycles", "busy_cycles_max"),
)
TEXTS = (
    TextSabotage((Trade.COARSER,), "two rows a lane", texts.FINE, texts.COARSE, WIDTH),
    TextSabotage((Trade.ONE_LOOP, Trade.FEWER_LANES), "all rows in a lane", texts.FINE, texts.LOOP, WIDTH),
    TextSabotage(
        (Trade.SCALAR,),
        "a batch for each row",
        texts.FINE,
        texts.SCALAR,
        {
            "graph": ("width",),
            "scheduled": ("assignment", "order"),
            **dict.fromkeys(("tensors", "buffers"), ("assignment", "order", "buffer_bytes")),
        },
    ),
    TextSabotage((Trade.LONGER_PATH,), "one behind the other", texts.WIDE, texts.CHAINED, {"graph": ("span_cycles",)}),
    TextSabotage(
        (Trade.INSTRUCTIONS,),
        "the same function twice",
        texts.FINE,
        texts.LONG,
        at_all_levels(
            ("vector_count", "instructions", "work_cycles", "span_cycles"),
            ("vector_count", "instructions", "instructions_max", "work_cycles", "makespan_cycles"),
            ("vector_count", "instruction_kinds", "work_cycles"),
        ),
    ),
    TextSabotage(
        (Trade.RECOMPUTED,),
        "an equal batch",
        texts.FINE,
        texts.TWICE,
        {
            **at_all_levels(
                ("recomputed", "work_cycles"), ("recomputed", "work_cycles"), ("vector_count", "work_cycles")
            ),
            "buffers": ("vector_count", "instructions", "work_cycles"),
        },
    ),
    TextSabotage(
        (Trade.LOCAL_COPIES,),
        "a copied row",
        texts.FINE,
        texts.COPIED,
        at_all_levels(*[("local_copies", "local_copy_bytes")] * 3),
    ),
)
TEXT_CASES = [(one, level) for one in TEXTS for level in one.fields]


@pytest.mark.parametrize(("one", "level"), TEXT_CASES, ids=[f"{one.name}-{level}" for one, level in TEXT_CASES])
def test_texts(one: TextSabotage, level: str) -> None:
    fields = set(one.fields[level])
    assert fields <= harm_from_text(one.good, one.bad, level)
    assert not harm_from_text(one.good, one.good, level)
    if level == "package":
        return  # a package has to be what the IR says: less is as wrong as more
    back = harm_from_text(one.bad, one.good, level)
    assert not back & fields - {"assignment", "order"}, "the way back does no harm, but for what has to stay"


def harm_from_text(good: str, bad: str, level: str) -> set[str]:
    if level != "package":
        return harm_of(becomes(lowered(bad, level)), lowered(good, level))
    guard = Guard(Mode.REPORT, lambda text: None)
    guard_package(guard, last_module(good), packaged(bad), 0.0)
    return harm_by(guard)


def test_same_totals_longer_path() -> None:
    """Nothing but the critical path tells the two apart, with few cores or many."""
    assert harm_from_text(texts.WIDE, texts.CHAINED, "graph") == {"span_cycles", "lane_path_cycles"}


def test_without_a_machine_the_reference_machine_tells() -> None:
    good, bad = (text.replace('attributes {tile.machine = "tiny4"} ', "") for text in (texts.WIDE, texts.CHAINED))
    assert "tile.machine" not in good
    assert harm_of(becomes(parse_module(bad)), parse_module(good)) == {"span_cycles", "lane_path_cycles"}
    assert harm_of(becomes(parse_module(good)), parse_module(good)) == set()


def test_a_stream_does_not_tell_a_scalar_batch() -> None:
    """That is why it is impossible there: but for the tensors of the interface, nothing differs."""
    assert (Trade.SCALAR, "package") in IMPOSSIBLE
    assert harm_from_text(texts.FINE, texts.SCALAR, "package") <= {"host_bytes"}


# Edits of a real program


@dataclass(frozen=True)
class Sabotage:
    trades: tuple[Trade, ...]
    edit: Edit
    levels: tuple[str, ...]
    fields: tuple[str, ...]
    """All of them are among the reasons."""
    twin: Edit = edits.nothing


SPAT_AND_PIM = ("graph", "scheduled", "tensors", "buffers")
PLACED = ("scheduled", "tensors", "buffers")
SABOTAGES = (
    Sabotage((Trade.MACHINE,), edits.change_machine, ("onnx", *SPAT_AND_PIM), ("machine",), edits.nothing),
    Sabotage((Trade.MACHINE,), edits.change_widths, SPAT_AND_PIM, ("machine",), edits.same_machine),
    Sabotage((Trade.MACHINE,), edits.claim_samples, ("onnx", *SPAT_AND_PIM), ("samples",), edits.say_one_sample),
    Sabotage((Trade.INSTRUCTIONS,), edits.read_more_rows, ("graph",), ("read_elements",)),
    Sabotage((Trade.INSTRUCTIONS,), edits.pad_more, ("graph", "scheduled"), ("window_elements",)),
    Sabotage((Trade.HOST_COPIES,), edits.give_doubles, SPAT_AND_PIM, ("interface",)),
    Sabotage((Trade.FEWER_LANES,), edits.fewer_replicas, ("graph",), ("width_of_node", "span_cycles")),
    Sabotage(
        (Trade.FEWER_LANES,),
        edits.sums_on_fewer_cores,
        ("graph",),
        ("vector_turns_of_node",),
        edits.text_in_another_order,
    ),
    Sabotage(
        (Trade.INSTRUCTIONS,),
        edits.sums_on_more_cores,
        ("graph",),
        ("vector_slots_of_node",),
        edits.text_in_another_order,
    ),
    Sabotage((Trade.FEWER_LANES,), edits.rows_by_fewer_cores, PLACED, ("width", "assignment"), edits.uniformly_later),
    Sabotage(
        (Trade.DEPENDENT,),
        edits.both_replicas_on_one_core,
        ("placed",),
        ("width_of_node", "assignment"),
        edits.uniformly_later,
    ),
    Sabotage((Trade.DEPENDENT,), edits.a_replica_less, ("graph",), ("width_of_node", "span_cycles")),
    Sabotage((Trade.DEPENDENT,), edits.one_lane_behind_another, PLACED, ("order",), edits.text_in_another_order),
    Sabotage((Trade.LONGER_PATH,), edits.last_first, PLACED, ("makespan_cycles",), edits.uniformly_later),
    Sabotage((Trade.LONGER_PATH,), edits.constants_when_needed, PLACED, ("order",), edits.uniformly_later),
    Sabotage(
        (Trade.SERIAL_MESSAGES,),
        edits.messages_in_one_chain,
        PLACED,
        ("sends", "send_bytes", "receives", "byte_hops"),
        edits.messages_in_another_text_order,
    ),
    Sabotage(
        (Trade.LONGER_PATH,),
        edits.planned_somewhat_later,
        ("placed",),
        ("message_waits_of_node",),
        edits.uniformly_later,
    ),
    Sabotage(
        (Trade.LONGER_PATH,), edits.messages_somewhat_later, PLACED, ("message_waits_of_node",), edits.uniformly_later
    ),
    Sabotage(
        (Trade.SPLIT_SEND,), edits.send_in_two, PLACED, ("sends", "receives"), edits.messages_in_another_text_order
    ),
    Sabotage(
        (Trade.HIDDEN_COPY,),
        edits.there_and_back,
        PLACED,
        ("sends", "send_bytes", "byte_hops"),
        edits.messages_in_another_text_order,
    ),
    Sabotage(
        (Trade.HOST_COPIES,),
        edits.load_twice,
        ("tensors", "buffers"),
        ("host_to_device_copies", "host_to_device_bytes"),
    ),
    Sabotage((Trade.HOST_COPIES,), edits.store_more, SPAT_AND_PIM, ("interface",)),
    Sabotage((Trade.HOST_COPIES,), edits.store_more, PLACED, ("device_to_host_copies", "device_to_host_bytes")),
    Sabotage(
        (Trade.INSTRUCTIONS,),
        edits.again_in_place,
        ("tensors", "buffers"),
        ("vector_count", "instructions", "work_cycles"),
    ),
    Sabotage((Trade.INSTRUCTIONS,), edits.relu_again, ("graph", "scheduled"), ("vector_count", "instructions")),
    Sabotage((Trade.INSTRUCTIONS,), edits.more_work, ("onnx",), ("element_passes", "step_count"), edits.clone_instead),
    Sabotage(
        (Trade.LOCAL_COPIES, Trade.HIDDEN_COPY),
        edits.move_there_and_back,
        ("buffers",),
        ("local_copies", "local_copy_bytes"),
    ),
    Sabotage((Trade.LOCAL_COPIES,), edits.copy_a_row, ("graph", "scheduled"), ("local_copies", "local_copy_bytes")),
    Sabotage(
        (Trade.HIDDEN_COPY,),
        edits.copied_there_and_back,
        ("graph", "scheduled"),
        ("local_copies", "local_copy_bytes"),
    ),
    Sabotage(
        (Trade.RECOMPUTED,),
        edits.batch_for_each_reader,
        ("onnx",),
        ("recomputed", "element_passes"),
        edits.clone_instead,
    ),
    Sabotage(
        (Trade.RECOMPUTED,),
        edits.batch_for_each_reader,
        ("graph",),
        ("recomputed", "vector_count"),
        edits.clone_instead,
    ),
    Sabotage((Trade.HOST_WORK,), edits.to_the_host, SPAT_AND_PIM, ("host_ops",)),
    Sabotage((Trade.INSTRUCTIONS,), plans.deeper_ring, ("planned",), ("zeroed_bytes",), plans.upside_down),
    Sabotage((Trade.INSTRUCTIONS,), plans.moved_where_there_is_room, ("planned",), ("core_bytes",), plans.upside_down),
    Sabotage(
        (Trade.LOCAL_COPIES,),
        edits.inputs_loaded_first,
        ("tensors", "buffers"),
        ("row_bytes_of_core",),
        edits.uniformly_later,
    ),
    Sabotage((Trade.LONGER_PATH,), plans.late_constants, ("planned",), ("plan_faults",), edits.uniformly_later),
)
CASES = [(one, level) for one in SABOTAGES for level in one.levels]


@pytest.mark.parametrize(("one", "level"), CASES, ids=[f"{one.edit.__name__}-{level}" for one, level in CASES])
def test_sabotage(one: Sabotage, level: str) -> None:
    assert set(one.fields) <= harm_of(one.edit, module_at(level))
    assert not harm_of(one.twin, module_at(level))


# Packages: `test_code_generation_guard.py` runs them

PACKAGES = {
    packages.without_a_lane: (Trade.FEWER_LANES,),
    packages.vector_twice: (Trade.INSTRUCTIONS, Trade.RECOMPUTED),
    packages.register_again: (Trade.INSTRUCTIONS,),
    packages.register_for_nothing: (Trade.INSTRUCTIONS,),
    packages.widths_again: (Trade.INSTRUCTIONS,),
    packages.local_copy: (Trade.LOCAL_COPIES,),
    packages.load_twice: (Trade.HOST_COPIES,),
    packages.there_and_back: (Trade.HIDDEN_COPY, Trade.HOST_COPIES),
    packages.other_widths: (Trade.MACHINE,),
    packages.without_a_product: (Trade.HOST_WORK,),
    packages.without_a_store: (Trade.HOST_WORK,),
    packages.sends_last: (Trade.LONGER_PATH, Trade.SERIAL_MESSAGES, Trade.DEPENDENT),
    packages.store_after_the_next: (Trade.LONGER_PATH,),
    packages.send_in_two: (Trade.SPLIT_SEND,),
}


# All of them

LEVEL_OF = {"placed": "scheduled", "planned": "buffers"}


def sabotages() -> dict[tuple[Trade, str], list[str]]:
    """The names of all sabotages, by trade and level."""
    found: dict[tuple[Trade, str], list[str]] = {(trade, level): [] for trade in Trade for level in LEVELS}
    for network in NETWORKS:
        for trade in network.trades:
            found[trade, "onnx"].append(network.name)
    for text, level in TEXT_CASES:
        for trade in text.trades:
            found[trade, level].append(text.name)
    for sabotage, level in CASES:
        for trade in sabotage.trades:
            found[trade, LEVEL_OF.get(level, level)].append(sabotage.edit.__name__)
    for package, trades in PACKAGES.items():
        for trade in trades:
            found[trade, "package"].append(package.__name__)
    return found


def test_every_trade_is_tried_at_every_level() -> None:
    found = sabotages()
    missing = [(trade.value, level) for (trade, level), names in found.items() if not names]
    assert sorted(missing) == sorted((trade.value, level) for trade, level in IMPOSSIBLE)
    assert all(reason for reason in IMPOSSIBLE.values())
    assert PACKAGES.keys() <= {one.edit for one in packages.SABOTAGES}


def test_the_documented_table() -> None:
    assert table(sabotages()) in GUARD.read_text(encoding="utf-8"), f"write into {GUARD.name}:\n{table(sabotages())}"
