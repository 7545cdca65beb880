"""The proxies that the compiler has reached for a few models. `make baselines` records them and says what changed."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import onnx
from guard_programs import network
from models import build
from tilec.analysis.machine import Machine
from tilec.analysis.proxies import write_json
from tilec.analysis.proxy_changes import Verdict
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
from tilec.tools.report_changes import difference, is_regression
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


def path_of(name: str, folder: Path = FOLDER) -> Path:
    return folder / f"{name}.json"


def report(name: str, now: Records | None = None, folder: Path = FOLDER) -> tuple[list[str], bool]:
    """What is not as recorded, in words, and whether any of it is worse."""
    changes = difference(read_records(path_of(name, folder)), now or measure(name))
    lines = [
        f"{name}, {one}: {'WORSE' if is_regression(change) else change.verdict.value} {change}"
        for one, found in changes.items()
        for change in found
        if change.verdict is not Verdict.EQUAL
    ]
    return lines, any(is_regression(change) for found in changes.values() for change in found)


def update(names: Sequence[str], why: str, folder: Path = FOLDER) -> int:
    """Records what the compiler does now, and prints what is not as it was; the exit code.

    What is worse needs a reason, which stands in `reasons.json` from then on; without one, nothing is recorded.
    """
    found = {name: measure(name) for name in names}
    reasons = folder / "reasons.json"
    given: dict[str, object] = json.loads(reasons.read_text(encoding="utf-8")) if reasons.exists() else {}
    worse = False
    for name, records in found.items():
        lines, harm = report(name, records, folder) if path_of(name, folder).exists() else ([], False)
        print("\n".join(lines) or f"{name}: as recorded")
        if harm:
            worse = True
            given[name] = {"why": why, "worse": [line for line in lines if ": WORSE " in line]}
    if worse and not why:
        print('error: what is worse needs a reason; make baselines WHY="the makespan is shorter, since ..."')
        return 1
    folder.mkdir(parents=True, exist_ok=True)
    for name, records in found.items():
        path_of(name, folder).write_text(write_json(records.proxies), encoding="utf-8")
    if worse:
        print(f"allowed, since {why}")
        reasons.write_text(json.dumps(given, indent=1) + "\n", encoding="utf-8")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help="record what the compiler does now")
    parser.add_argument("--why", default="", help="why what is worse is allowed")
    options = parser.parse_args()
    if options.update:
        return update(MODELS, options.why)
    for name in MODELS:
        print("\n".join(report(name)[0]) or f"{name}: as recorded")
    return 0


if __name__ == "__main__":
    sys.exit(main())
