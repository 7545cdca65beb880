"""How many replicas and parts each layer with weights gets (an adapter of the planner in `analysis/`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..analysis.latency_allocation import InfeasibleError, allocate_for_latency
from ..analysis.machine import Machine, Precision
from ..analysis.replicas import Choice, Layer, Option, fits
from ..codegen.isa import Op
from ..support.diagnostics import TileError
from .onnx_to_spat.context import LayerDemand, LayerMapping, minimum_row_parts
from .onnx_to_spat.product import Product
from .onnx_to_spat.weighted import SUM_FAN_IN
from .transfer_costs import usual_pair


def allocate_layers(
    demands: Sequence[LayerDemand], machine: Machine, precision: Precision, replicate: bool, samples: int = 1
) -> list[LayerMapping]:
    """Deals arrays to layers for the least latency of a sample, or for the least time of each of several ``samples``.

    Unless ``replicate``, these are the fewest that do. Raises TileError if one copy of the weights does not fit.
    """
    if not demands:
        return []
    if not replicate:
        return _fewest(demands, machine)
    try:
        return _allocate(demands, machine, precision, samples)
    except InfeasibleError as error:
        try:
            # Column parts are as narrow as is quick; wider ones may fill cores that narrow ones leave partly empty.
            return _allocate([_widened(demand) for demand in demands], machine, precision, samples)
        except InfeasibleError:
            raise TileError(
                f"machine '{machine.name}'", str(error), "use a machine with more cores or more arrays per core"
            ) from error


def _allocate(
    demands: Sequence[LayerDemand], machine: Machine, precision: Precision, samples: int
) -> list[LayerMapping]:
    ways = [_ways(demand.products, machine, precision) for demand in demands]
    layers = [
        Layer(demand.name, demand.rows, tuple(way.option for way in mine))
        for demand, mine in zip(demands, ways, strict=True)
    ]
    choices = allocate_for_latency(layers, machine.core_count, machine.arrays_per_core, samples)
    return [
        _mapping(demand, choice.replicas, mine[choice.option])
        for demand, choice, mine in zip(demands, choices, ways, strict=True)
    ]


def _mapping(demand: LayerDemand, replicas: int, way: _Way) -> LayerMapping:
    product = way.product
    usual = next(one for one in demand.products if one.windows == product.windows)
    columns = None if product.column_parts == usual.column_parts else product.column_parts
    return LayerMapping(replicas, product.windows, way.row_parts, columns)


def _widened(demand: LayerDemand) -> LayerDemand:
    """With products in fewer column parts as well, down to those whose slices only just fit a core."""
    found: list[Product] = []
    for product in demand.products:
        tiles = -(-product.windows * product.outputs // product.array_columns)
        least = -(-tiles // product.machine.arrays_per_core)
        found += [product, *(replace(product, column_parts=parts) for parts in range(least, product.column_parts))]
    return replace(demand, products=tuple(found))


def _fewest(demands: Sequence[LayerDemand], machine: Machine) -> list[LayerMapping]:
    """One replica of each layer in the fewest parts."""
    usual = [LayerMapping(1, 1, minimum_row_parts(demand.products[0])) for demand in demands]
    if _fit(demands, usual, machine):
        return usual
    wide: list[LayerMapping] = []
    for demand in demands:
        product = min(_widened(demand).products, key=lambda one: (one.windows, one.column_parts))
        wide.append(LayerMapping(1, 1, minimum_row_parts(product), product.column_parts))
    return wide if _fit(demands, wide, machine) else usual


def _fit(demands: Sequence[LayerDemand], mappings: Sequence[LayerMapping], machine: Machine) -> bool:
    """Whether the parts of all layers can be packed into cores."""
    layers: list[Layer] = []
    for demand, mapping in zip(demands, mappings, strict=True):
        product = mapping.product(demand.products)
        arrays = -(-product.slice_count // mapping.row_parts) * product.group_arrays
        parts = mapping.row_parts * product.parts
        layers.append(Layer(demand.name, demand.rows, (Option(parts, arrays, 0, 0, 0),)))
    choices = [Choice(1, 0)] * len(layers)
    within = all(layer.options[0].part_arrays <= machine.arrays_per_core for layer in layers)
    return within and fits(layers, choices, machine.core_count, machine.arrays_per_core)


@dataclass(frozen=True)
class _Way:
    """One way to compute a layer and to lay one replica of it on cores."""

    product: Product
    row_parts: int
    option: Option


def _ways(products: Sequence[Product], machine: Machine, precision: Precision) -> list[_Way]:
    """Each product with its slices in 1, 2, ... parts; of those with equally many slices in a part, the fewest."""
    costs = _RowCosts(products[0], machine, precision)
    found: list[_Way] = []
    for product in products:
        slices = product.slice_count
        least = minimum_row_parts(product)
        for parts in range(least, slices + 1):
            if parts == least or -(-slices // parts) < -(-slices // (parts - 1)):
                found.append(_Way(product, parts, costs.option(product, parts)))
    return found


class _RowCosts:
    """Cycles of what one row of a layer takes, besides its products."""

    def __init__(self, product: Product, machine: Machine, precision: Precision) -> None:
        pair = usual_pair(machine)
        row = product.kernel.output[1] * -(-product.outputs // product.column_parts)
        inputs = product.feature.columns * sum(segment.pitch for segment in product.feature.segments)
        self._kernel_rows = product.kernel.size[0]
        self._add = int(machine.vector_cycles(Op.VVADD, row, precision))
        self._relu = int(machine.vector_cycles(Op.VRELU, row, precision))
        self._receive = int(machine.recv_cycles(*pair, row * precision.output_bytes))
        self._send = int(machine.send_cycles(*pair, row * precision.output_bytes))
        self._receive_input = int(machine.recv_cycles(*pair, inputs * precision.input_bytes))
        self._send_input = int(machine.send_cycles(*pair, inputs * precision.input_bytes))

    def option(self, product: Product, parts: int) -> Option:
        """A part receives the rows of the input that its slices read, multiplies, adds, and sends its sum to a tree of
        adders; the last one adds the bias and applies the activation."""
        slices = product.slice_count
        height = -(-slices // parts)
        rows_read = -(-self._kernel_rows // parts)
        busy = height * product.slice_cycles + (height - 1) * self._add + rows_read * self._receive_input + self._send
        sums = slices - 1 + 1  # of slices, and with the bias
        work = slices * product.slice_cycles + sums * self._add + self._relu
        work += parts * rows_read * (self._receive_input + self._send_input)
        latency = busy + self._add + self._relu + self._receive
        level = parts
        while level > 1:
            adders = -(-level // SUM_FAN_IN)
            latency += -(-level // adders) * (self._receive + self._add) + self._send
            work += level * (self._receive + self._send)
            level = adders
        columns = product.parts
        return Option(parts * columns, height * product.group_arrays, busy, work * columns, latency)
