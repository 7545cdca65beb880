"""How far the compiler's estimates of one sample's latency are from the clock, model by model.

`python tests/static_estimates.py` measures and prints them, and writes the table of stated bounds into docs/timing.md.
The bounds are stated by hand, below: schedules change, and the errors of estimates with them.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import onnx
from models import build
from tilec.codegen.build import build_package
from tilec.codegen.manifest import Origin
from tilec.codegen.static_latency import static_latency_cycles
from tilec.dialects.registry import make_context
from tilec.lowering.onnx_importer import import_onnx
from tilec.lowering.target import target_of
from tilec.passes.guard import Guard
from tilec.passes.manager import PassManager
from tilec.passes.pipeline import build_pipeline
from tilec.passes.statistics import PassStatistics
from tilec.simulators.timing import simulate

EXAMPLES = Path(__file__).parents[1] / "examples"
DOCUMENT = Path(__file__).parents[1] / "docs" / "timing.md"
BEGIN, END = "<!-- static estimates: begin -->\n", "<!-- static estimates: end -->\n"
Bounds = tuple[float, float]


@dataclass(frozen=True)
class Errors:
    """In percent of the clock's latency; positive where the estimate is too long."""

    timeline: float
    """The schedule's own makespan, which `spat-schedule-peft` records as a statistic."""
    makespan: float
    """`makespan_cycles` of the proxies, when messages are known: after `spat-realize-communication`."""
    planned: float
    """`static_latency_cycles`, when every instruction is known but the scalar ones: after `pim-plan-memory`."""


@dataclass(frozen=True)
class Stated:
    """The bounds of each error."""

    timeline: Bounds
    makespan: Bounds
    planned: Bounds


STATED: dict[str, Stated] = {
    "digits_cnn": Stated((-4, 0), (-4, 0), (-1.5, 0.5)),
    "mnist_lenet5": Stated((-6, 0), (-6, 0), (-2.0, 0.5)),
    "mnist_resnet8": Stated((-2, 0), (-3, 0), (-0.5, 0.5)),
    "squeezenet1_0_64": Stated((-3, 0), (-3, 0), (-0.5, 0.5)),
    "alexnet_64": Stated((-3, 0), (-4, 0), (-0.5, 0.5)),
    "resnet18_64": Stated((-2, 0), (-2, 0), (-0.5, 0.5)),
    "mobilenet_v2_64": Stated((-3, 0), (-3, 0), (-0.5, 0.5)),
    "googlenet_64": Stated((-4, 0), (-4, 0), (-0.5, 0.5)),
    "shufflenet_v1_64": Stated((-3, 0), (-3, 0), (-0.5, 0.5)),
    "resnet50_64": Stated((-1, 0), (-1, 0), (-0.5, 0.5)),
}


def load(name: str) -> onnx.ModelProto:
    """A trained example, or a network with random weights at the image size behind its name."""
    path = EXAMPLES / f"{name}.onnx"
    if path.exists():
        return onnx.load(path)
    architecture, size = name.rsplit("_", 1)
    return build(architecture, int(size))


def measure(name: str, machine: str = "reference144") -> Errors:
    """Compiles the model and compares all estimates with the clock."""
    module = import_onnx(load(name).SerializeToString())
    guard, statistics = Guard(), PassStatistics()
    PassManager(build_pipeline(f"tile-default{{machine={machine}}}"), (guard, statistics)).run(make_context(), module)
    (timeline,) = [found["makespan cycles"] for found in statistics.by_pass.values() if "makespan cycles" in found]
    (makespan,) = [
        found.after.proxies.makespan_cycles
        for found in guard.examined
        if found.name == "spat-realize-communication" and found.after is not None
    ]
    assert makespan is not None
    package = build_package(module, Origin(name), {})
    target = target_of(module).machine
    clock = simulate(package.program, target).latency_ns / target.period_ns
    estimates = timeline, makespan, static_latency_cycles(module)
    return Errors(*(100 * (estimate / clock - 1) for estimate in estimates))


def stated_table() -> str:
    """The table of docs/timing.md."""
    lines = ["| model | `spat-schedule-peft` | `makespan_cycles` | `latency_cycles` |", "| --- | --- | --- | --- |"]
    for name, stated in STATED.items():
        bounds = (stated.timeline, stated.makespan, stated.planned)
        cells = [f"{low:+g} to {high:+g} %".replace("+0 ", "0 ") for low, high in bounds]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "".join(f"{line}\n" for line in lines)


def documented_table() -> str:
    """What stands in docs/timing.md."""
    return DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=list(STATED))
    for name in parser.parse_args().models:
        found = measure(name)
        print(f"{name:20} {found.timeline:+7.2f} % {found.makespan:+7.2f} % {found.planned:+7.2f} %", flush=True)
    before, _, after = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)
    DOCUMENT.write_text(before + BEGIN + stated_table() + END + after.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
