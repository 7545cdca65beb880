"""The pass `onnx-batch`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..analysis.contract import Contract, equals, interface_of_samples, times
from ..lowering.sample_axis import spread_samples


def _contract(samples: int) -> Contract:
    counted = (
        "compute_instances",
        "lanes_of_node",
        "macs",
        "element_passes",
        "element_passes_of_node",
        "layer_elements",
        "layer_reads",
        "layer_rows",
        "pass_depths",
        "work_of_output",
        "samples",
    )
    return Contract(
        {
            "interface": equals(interface_of_samples(samples), "inputs and outputs hold N samples instead of one"),
            **{name: equals(times(name, samples), "what one sample takes, N times") for name in counted},
            "work_depths": equals(
                times("work_depths", samples * samples), "N times as many elements, each behind the work of N samples"
            ),
        },
        idle_networks=True,
    )


@dataclass(frozen=True)
class OnnxBatchPass(ModulePass):
    """Makes a network for one sample compute N samples, each as before and independently of the others.

    The leading axis of inputs, outputs and everything that depends on inputs gets extent N instead of 1; constants are
    shared. The program then has N samples in flight: cores work on one while others finish the one before. A network in
    which that axis does not stand for samples throughout, such as one that adds up over it, is refused with the name of
    the node. Needs the normal form of `onnx-simplify`, in which all that does not depend on inputs is constant.
    """

    name = "onnx-batch"
    contract: ClassVar[Contract] = _contract(1)

    samples: int = 1
    """Samples that the program computes at once; 1 changes nothing."""

    def contract_with_options(self) -> Contract:
        """Everything is multiplied by the number of samples."""
        return _contract(self.samples)

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise ValueError(f"samples is {self.samples}, at least 1 expected")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.samples > 1:
            spread_samples(op, self.samples)
