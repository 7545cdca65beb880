"""The passes by name. Nothing is imported until a pass is used, so that the tools start at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

PassFactory: TypeAlias = "Callable[[], type[ModulePass]]"

PASSES: Mapping[str, str] = MappingProxyType(
    {
        "onnx-simplify": "tilec.passes.onnx_simplify:OnnxSimplifyPass",
        "onnx-batch": "tilec.passes.onnx_batch:OnnxBatchPass",
        "convert-onnx-to-spat": "tilec.passes.convert_onnx_to_spat:ConvertOnnxToSpatPass",
        "spat-merge-graph": "tilec.passes.spat_merge_graph:SpatMergeGraphPass",
        "spat-merge-trivial": "tilec.passes.spat_merge_trivial:SpatMergeTrivialPass",
        "spat-schedule-peft": "tilec.passes.spat_schedule_peft:SpatSchedulePeftPass",
        "spat-materialize-schedule": "tilec.passes.spat_materialize_schedule:SpatMaterializeSchedulePass",
        "spat-defer-communication": "tilec.passes.spat_defer_communication:SpatDeferCommunicationPass",
        "spat-realize-communication": "tilec.passes.spat_realize_communication:SpatRealizeCommunicationPass",
        "convert-spat-to-pim": "tilec.passes.convert_spat_to_pim:ConvertSpatToPimPass",
        "pim-bufferize": "tilec.passes.pim_bufferize:PimBufferizePass",
        "pim-plan-memory": "tilec.passes.pim_plan_memory:PimPlanMemoryPass",
        "guard-mode": "tilec.passes.guard_mode:GuardModePass",
        "canonicalize": "xdsl.transforms.canonicalize:CanonicalizePass",
        "cse": "xdsl.transforms.common_subexpression_elimination:CommonSubexpressionElimination",
        "dce": "xdsl.transforms.dead_code_elimination:DeadCodeElimination",
    }
)
"""`module:Class` of every pass, in the order in which the default pipeline runs them; upstream's come last."""

NAMED_PIPELINES: Mapping[str, str] = MappingProxyType(
    {
        "tile-default": ",".join(
            name for name, target in PASSES.items() if name != "guard-mode" and "tilec." in target
        ),
    }
)
"""Pipelines that have a name; the text is what the name stands for."""


def all_passes() -> dict[str, PassFactory]:
    """A factory for the class of every pass; calling it imports the pass."""
    return {name: _factory(target) for name, target in PASSES.items()}


def _factory(target: str) -> PassFactory:
    def load() -> type[ModulePass]:
        from xdsl.passes import ModulePass

        module, _, name = target.partition(":")
        loaded = getattr(import_module(module), name)
        assert issubclass(loaded, ModulePass), f"{target} is no pass"
        return loaded

    return load
