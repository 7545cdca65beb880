"""Small graphs as text, in pairs: what is harmed, and how; and the same at every level below.

Each text is a graph on one input of 4 rows. What becomes of it at a level is what the passes make of it, without the
guard: so the harm is that of the text and of nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from guard_programs import parsed
from tilec.codegen.build import build_package
from tilec.codegen.manifest import Origin
from tilec.codegen.package import Package
from tilec.dialects.registry import make_context
from tilec.passes.manager import PassManager
from tilec.passes.pipeline import build_pipeline
from xdsl.dialects.builtin import ModuleOp

PASSES = {
    "graph": "",
    "scheduled": "spat-schedule-peft,spat-materialize-schedule,spat-defer-communication,spat-realize-communication",
}
PASSES["tensors"] = PASSES["scheduled"] + ",convert-spat-to-pim"
PASSES["buffers"] = PASSES["tensors"] + ",pim-bufferize"
"""From a graph to each level."""


@cache
def _lowered(text: str, passes: str) -> ModuleOp:
    module = parsed(text)
    PassManager(build_pipeline(passes)).run(make_context(), module)
    return module


def lowered(text: str, level: str) -> ModuleOp:
    """A program of its own at one of the levels of `PASSES`."""
    return _lowered(text, PASSES[level]).clone()


def last_module(text: str) -> ModuleOp:
    """What code generation starts from."""
    return _lowered(text, PASSES["buffers"] + ",pim-plan-memory").clone()


def packaged(text: str) -> Package:
    return build_package(last_module(text), Origin("text"), {})


def program(*batches: str, outs: str, count: int) -> str:
    """A graph on the input x, 4 rows of 4 columns and 2 channels; ``count`` outputs of its rows."""
    values = ", ".join(f"%{name.strip()}" for name in outs.split(","))
    per_value = 2
    types = ", ".join([f"tensor<{16 // count // 4}x4x{per_value}xf32>" for _ in outs.split(",")])
    channels = ", ".join(f"#tile.array<i32[2] [{2 * n}, {2 * n + 1}]>" for n in range(len(outs.split(","))))
    return f"""
builtin.module attributes {{tile.machine = "tiny4"}} {{
  func.func @main() {{
    %x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
    {"".join(batches)}
    spat.output "y" shape <i64[4] [1, 2, 4, 4]> channels [{channels}] {values} : {types}
    func.return
  }}
}}"""


def relus(name: str, source: str, lanes: int, windows: str, rows: int, ops: int = 1) -> str:
    """A batch whose lanes take the hyperbolic tangent of ``rows`` rows each, ``ops`` times."""
    names = ", ".join(f"%{name}{n}" for n in range(rows)) if rows > 1 else f"%{name}"
    body = ""
    for row in range(rows):
        body += f"%v{row} = spat.view %w row {row} start 0 step 2 : tensor<{rows}x4x2xf32> -> tensor<4x2xf32>\n"
        before = f"%v{row}"
        for n in range(ops):
            body += f"%r{row}_{n} = spat.tanh {before} : tensor<4x2xf32>\n"
            before = f"%r{row}_{n}"
    yielded = ", ".join(f"%r{row}_{ops - 1}" for row in range(rows))
    kinds = ", ".join(["tensor<4x2xf32>"] * rows)
    results = ", ".join([f"tensor<{lanes}x4x2xf32>"] * rows)
    return f"""
    {names} = spat.compute_batch lanes {lanes} ins(%{source} : tensor<4x4x2xf32>) windows [{windows}] -> {results} {{
    ^bb0(%w: tensor<{rows}x4x2xf32>):
      {body}spat.yield {yielded} : {kinds}
    }}"""


EACH = "#spat.window<height 4, lanes 4>"
FINE = program(relus("y", "x", 4, EACH, 1), outs="y", count=1)
COARSE = program(relus("y", "x", 2, "#spat.window<height 4, lanes 2, rows 2, stride 2>", 2), outs="y0, y1", count=2)
LOOP = program(relus("y", "x", 1, "#spat.window<height 4, lanes 1, rows 4>", 4), outs="y0, y1, y2, y3", count=4)
SCALAR = program(
    *(relus(f"y{n}", "x", 1, f"#spat.window<height 4, lanes 1, pad_top {-n}>", 1) for n in range(4)),
    outs="y0, y1, y2, y3",
    count=4,
)
WIDE = program(relus("a", "x", 4, EACH, 1, 3), relus("y", "x", 4, EACH, 1), outs="y", count=1)
CHAINED = program(relus("a", "x", 4, EACH, 1, 3), relus("y", "a", 4, EACH, 1), outs="y", count=1)
LONG = program(relus("y", "x", 4, EACH, 1, 2), outs="y", count=1)
TWICE = program(relus("a", "x", 4, EACH, 1), relus("y", "x", 4, EACH, 1), outs="y", count=1)

COPIED = program(
    relus("y", "x", 4, EACH, 1).replace(
        "spat.yield %r0_0", "%g = spat.gather %r0_0 : tensor<4x2xf32> -> tensor<4x2xf32>\nspat.yield %g"
    ),
    outs="y",
    count=1,
)


@dataclass(frozen=True)
class Pair:
    """A graph, a worse one, and the proxies by which it is worse, by level."""

    trade: str
    good: str
    bad: str
    fields: dict[str, tuple[str, ...]]
