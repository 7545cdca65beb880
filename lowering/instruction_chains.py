"""Which instructions of a body run in turns: repeat index by repeat index instead of one after the other."""

from __future__ import annotations

from xdsl.ir import Block

from ..dialects.pim import IssueOp


def chains_of(block: Block) -> list[list[IssueOp]]:
    """The instructions of a body, those that run in turns together: a chained one joins those before it if it repeats
    as often."""
    chains: list[list[IssueOp]] = []
    for issue in block.ops:
        if isinstance(issue, IssueOp):
            if issue.chained is not None and chains and chains[-1][0].count == issue.count:
                chains[-1].append(issue)
            else:
                chains.append([issue])
    return chains
