"""SSA dominance: every value is defined before, and in a region around, each of its uses. xDSL does not check this."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove

from .op_error import OpError, location_text, op_title


def dominance_errors(root: Operation, ordered: Collection[Operation] = ()) -> Iterator[OpError]:
    """One error for each use, inside the regions of ``root``, of a value that does not dominate the use.

    Regions of the ops ``ordered`` are known to have none, and to use no values from outside.
    """
    for region in root.regions:
        yield from _check_region(region, set(), ordered)


def immediate_dominators(region: Region) -> dict[Block, Block]:
    """The immediate dominator of each block reachable from the entry; the entry's is itself.

    After Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm".
    """
    order = _reverse_postorder(region)
    number = {block: index for index, block in enumerate(order)}
    predecessors: dict[Block, list[Block]] = {block: [] for block in order}
    for block in order:
        for successor in _successors(block):
            predecessors[successor].append(block)

    dominators = {order[0]: order[0]}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            known = [predecessor for predecessor in predecessors[block] if predecessor in dominators]
            nearest = known[0]
            for other in known[1:]:
                while nearest is not other:
                    while number[nearest] > number[other]:
                        nearest = dominators[nearest]
                    while number[other] > number[nearest]:
                        other = dominators[other]
            if dominators.get(block) is not nearest:
                dominators[block] = nearest
                changed = True
    return dominators


def _check_region(region: Region, visible: set[int], ordered: Collection[Operation]) -> Iterator[OpError]:
    """Checks ``region``, at whose op the values ``visible`` can be used; leaves ``visible`` as it was.

    Values are known by identity, since they are all there while this runs.
    """
    if region.first_block is None:
        return
    if region.first_block.next_block is None:
        defined: list[int] = []
        yield from _check_block(region.first_block, visible, defined, ordered)
        visible.difference_update(defined)
        return

    dominators = immediate_dominators(region)
    dominated: dict[Block, list[Block]] = {block: [] for block in dominators}
    for block, dominator in dominators.items():
        if block is not dominator:
            dominated[dominator].append(block)
    # A walk over the dominator tree; an entry with values takes them out of sight again.
    stack: list[Block | list[int]] = [region.first_block]
    while stack:
        entry = stack.pop()
        if isinstance(entry, list):
            visible.difference_update(entry)
            continue
        defined = []
        stack.append(defined)
        stack.extend(dominated[entry])
        yield from _check_block(entry, visible, defined, ordered)

    # In a block that nothing jumps to, every value of the region may be used, as in MLIR.
    unreachable = [block for block in region.blocks if block not in dominators]
    if unreachable:
        everything = {id(value) for block in region.blocks for value in _values(block)} - visible
        visible |= everything
        for block in unreachable:
            yield from _check_block(block, visible, [], ordered)
        visible -= everything


def _check_block(
    block: Block, visible: set[int], defined: list[int], ordered: Collection[Operation]
) -> Iterator[OpError]:
    """Checks ``block`` and adds its values to ``visible`` and to ``defined``."""
    arguments = [id(argument) for argument in block.args]
    visible.update(arguments)
    defined += arguments
    op = block.first_op
    while op is not None:
        if not visible.issuperset(map(id, op.operands)):
            for index, operand in enumerate(op.operands):
                if id(operand) not in visible:
                    yield OpError(op, f"operand #{index} does not dominate this use: {_reason(op, operand)}")
        if op.regions and op not in ordered:
            isolated = op.has_trait(IsolatedFromAbove, value_if_unregistered=False)
            for region in op.regions:
                yield from _check_region(region, set() if isolated else visible, ordered)
        results = [id(result) for result in op.results]
        visible.update(results)
        defined += results
        op = op.next_op


def _reason(op: Operation, value: SSAValue) -> str:
    """Why ``value`` cannot be used by ``op``."""
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.parent
    if block is None:
        return "its definition is not part of the module"
    where = f", at {location_text(owner)}" if isinstance(owner, Operation) else ""
    barrier: Operation | None = None
    user: Operation | None = op
    while user is not None:
        if user.parent is block or (user.parent is not None and user.parent.parent is block.parent):
            if barrier is not None:
                return f"it is defined outside '{op_title(barrier)}', which is isolated from above{where}"
            if user.parent is not block:
                return f"it is defined in a block that does not come before this one on every path{where}"
            if user is owner:
                return "it is the op's own result" if user is op else f"it is a result of the op around the use{where}"
            return f"it is defined later in the block{where}"
        user = user.parent_op()
        if user is not None and user.has_trait(IsolatedFromAbove, value_if_unregistered=False):
            barrier = barrier or user
    return f"it is defined in a region that does not enclose the use{where}"


def _reverse_postorder(region: Region) -> list[Block]:
    assert region.first_block is not None
    seen = {region.first_block}
    stack = [(region.first_block, iter(_successors(region.first_block)))]
    order: list[Block] = []
    while stack:
        block, successors = stack[-1]
        for successor in successors:
            if successor not in seen:
                seen.add(successor)
                stack.append((successor, iter(_successors(successor))))
                break
        else:
            stack.pop()
            order.append(block)
    return order[::-1]


def _successors(block: Block) -> tuple[Block, ...]:
    return () if block.last_op is None else tuple(block.last_op.successors)


def _values(block: Block) -> Iterator[SSAValue]:
    yield from block.args
    for op in block.ops:
        yield from op.results
