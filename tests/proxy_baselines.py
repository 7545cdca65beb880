"""The proxies that the compiler has reached for a few models. `make baselines` records them and says what changed."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

import onnx
from guard_programs import network
from models import build
from tilec.analysis.machine import Machine
from tilec.analysis.proxies import Verdict, write_json
from tilec.analysis.stages import PACKAGE
from tilec.codegen.build import build_package
from tilec.codegen.guarded import guard_package, stage_records
from tilec.codegen.manifest import Origin
from tilec.dialects.registry import make_context
from tilec.lowering.onnx_importer import import_onnx
from tilec.passes.guard import Guard
from tilec.passes.manager import PassManager
from tilec.passes.pipeline import build_pipeline
from tilec.simulators.timing import simulate
from tilec.tools.report_diff import difference, is_regression
from tilec.tools.report_records import Records, read_records

FOLDER = Path(__file__).parent / "data" / "proxies"
EXAMPLES = Path(__file__).parents[1] / "examples"
MODELS = ("digits_cnn", "mnist_resnet8", "residual_tiny4", "squeezenet1_0_32")


def measure(name: str) -> Records:
    """The proxies of every stage, from the model as it is read to the package with its latency."""
    machine = "tiny4" if name.endswith("tiny4") else "reference144"
    match name:
        case "residual_tiny4":
            model = network()
        case "squeezenet1_0_32":
            model = build("squeezenet1_0", image_size=32, num_classes=10)
        case _:
            model = onnx.load(EXAMPLES / f"{name}.onnx")
    guard = Guard()
    passes = build_pipeline(f"tile-default{{machine={machine}}}")
    module = import_onnx(model.SerializeToString())
    PassManager(passes, (guard,)).run(make_context(), module)
    package = guard_package(guard, module, build_package(module, Origin(name), {}), 0.0)
    found = stage_records(guard.examined)
    known = Machine.load(machine)
    clock = round(simulate(package.program, known).latency_ns / known.period_ns)
    return Records(found | {PACKAGE: replace(found[PACKAGE], clock_cycles=clock)})


def path_of(name: str) -> Path:
    return FOLDER / f"{name}.json"


def report(name: str) -> tuple[list[str], bool]:
    """What is not as recorded, in words, and whether any of it is worse."""
    changes = difference(read_records(path_of(name)), measure(name))
    lines = [
        f"{name}, {one}: {'WORSE' if is_regression(change) else change.verdict.value} {change}"
        for one, found in changes.items()
        for change in found
        if change.verdict is not Verdict.EQUAL
    ]
    return lines, any(is_regression(change) for found in changes.values() for change in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help="record what the compiler does now")
    update = parser.parse_args().update
    for name in MODELS:
        if path_of(name).exists():
            print("\n".join(report(name)[0]) or f"{name}: as recorded")
        if update:
            FOLDER.mkdir(parents=True, exist_ok=True)
            path_of(name).write_text(write_json(measure(name).proxies), encoding="utf-8")
            json.loads(path_of(name).read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
