"""`python -m bench`: the command line of the benchmark."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from .growth import QUICK_SIZES, SIZES, grow, growth_report
from .measure import compile_and_time
from .networks import NETWORKS, ROOT, image_size, model_file
from .process import CommandError
from .tables import Row, report

FORMAT = "tile-bench 1"
DESCRIPTION = "Compiles networks with random weights, each by tile-compile in a process of its own, and times them."
CACHE = ROOT / "out" / "bench"


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 1 if a network could not be measured."""
    options = _parser().parse_args(arguments)
    cache: Path = options.cache
    simulator: Path | None = options.simulator
    if options.growth is not None:
        steps = grow(options.growth, QUICK_SIZES if options.quick else SIZES, cache, options.repeat)
        content = {"format": FORMAT, "growth": {options.growth: [asdict(step) for step in steps]}}
        _write(options.json, content, growth_report(options.growth, steps))
        return 0
    rows: list[Row] = []
    errors: dict[str, str] = {}
    for name in options.networks:
        size = image_size(name, options.quick)
        try:
            print(f"{name} {size}", file=sys.stderr, flush=True)
            model = model_file(name, size, cache / "models")
            rows.append(Row(name, size, *compile_and_time(model, cache, simulator, repeat=options.repeat)))
        except CommandError as error:
            errors[name] = str(error)
    networks = {
        row.name: {"image_size": row.size, "program": asdict(row.program), "compiler": asdict(row.usage)}
        for row in rows
    }
    _write(options.json, {"format": FORMAT, "networks": networks, "errors": errors}, report(rows, errors))
    return 1 if errors else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=DESCRIPTION)
    parser.add_argument(
        "--networks", type=_names, default=list(NETWORKS), metavar="A,B", help=f"of {', '.join(NETWORKS)}; default all"
    )
    parser.add_argument("--quick", action="store_true", help="small images, without goals and rivals")
    parser.add_argument("--growth", choices=list(NETWORKS), metavar="NAME", help="compile one network at growing sizes")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="compile N times; the least time counts")
    parser.add_argument("--simulator", type=Path, metavar="FILE", help="pimsim-nn's ChipTest, to time packages as well")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything to FILE, too")
    parser.add_argument("--cache", type=Path, default=CACHE, metavar="DIR", help="where models are kept")
    return parser


def _names(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in NETWORKS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no network is called {', '.join(unknown)}")
    return names


def _write(path: Path | None, content: object, text: str) -> None:
    print(text, end="")
    if path is not None:
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
