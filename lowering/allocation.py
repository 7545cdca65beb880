"""How many replicas and parts each layer with weights gets (an adapter of `analysis/replication.py`)."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.machine import Machine
from .onnx_to_spat.context import LayerDemand, LayerMapping, minimum_row_parts


def allocate_layers(demands: Sequence[LayerDemand], machine: Machine, replicate: bool) -> Sequence[LayerMapping]:
    return [LayerMapping(1, minimum_row_parts(demand, machine.arrays_per_core)) for demand in demands]
