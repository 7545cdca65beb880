"""The trades that a compiler may not make, and where each is impossible.

What is a trade of one level may have no meaning at another: then a sentence says why. `test_guard_sabotage.py` has at
least one sabotage for every other pair, and fails if a pair has neither.
"""

from __future__ import annotations

from enum import Enum

LEVELS = ("onnx", "graph", "scheduled", "tensors", "buffers", "package")


class Trade(Enum):
    """What may not be given for time or memory of the compiler."""

    FEWER_LANES = "fewer lanes or cores"
    COARSER = "coarser granularity"
    SCALAR = "a batch made scalar"
    ONE_LOOP = "independent work in one sequential loop"
    RECOMPUTED = "recomputation"
    LOCAL_COPIES = "added local copies"
    HOST_COPIES = "added copies from and to the host"
    MACHINE = "changed parameters of the machine"
    SERIAL_MESSAGES = "a global serial order of messages"
    INSTRUCTIONS = "more instructions"
    HOST_WORK = "work moved to the host"
    LONGER_PATH = "a longer critical path with the same totals"
    DEPENDENT = "lanes that quietly became dependent"
    HIDDEN_COPY = "a copy hidden in a pair of moves"
    SPLIT_SEND = "a send split in two"


_NO_CORES = "nothing is on a core yet, so that nothing is sent"

IMPOSSIBLE = {
    (Trade.HOST_WORK, "onnx"): "no op of a network is on a device or on the host yet",
    (Trade.DEPENDENT, "onnx"): "rows of an op are no lanes yet; ops that become dependent are a longer path",
    (Trade.SERIAL_MESSAGES, "onnx"): _NO_CORES,
    (Trade.SERIAL_MESSAGES, "graph"): _NO_CORES,
    (Trade.SPLIT_SEND, "onnx"): _NO_CORES,
    (Trade.SPLIT_SEND, "graph"): _NO_CORES,
    (
        Trade.SCALAR,
        "package",
    ): "streams have no batches: four of a lane are the same instructions as one of four lanes",
}
"""Why a trade cannot be made at a level."""


def table(names: dict[tuple[Trade, str], list[str]]) -> str:
    """Trades by levels in Markdown: how many sabotages there are, or that there can be none."""
    lines = [f"| trade | {' | '.join(LEVELS)} |", "| --- |" + " --- |" * len(LEVELS)]
    for trade in Trade:
        cells = ["-" if (trade, level) in IMPOSSIBLE else str(len(names[trade, level])) for level in LEVELS]
        lines.append(f"| {trade.value} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
