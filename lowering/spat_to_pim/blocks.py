"""Products that come some columns at a time, and are added before the next ones come.

A product reads one address and writes another one, both of which have to be in registers. If the products of a whole
row came before they are added, each would write to an address of its own. So they come in turns: of each slice the
products of a few columns, then the sum of these. Two tiles with room for one turn hold the results of all slices, and
their addresses stay in registers; and while they do, other slices read again what the first ones have read.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..body_content import Shape

LONG = 14
"""Products of a row whose results are in registers all along: those of two slices are, and what they read comes and
goes. Longer rows are worth turns."""

MOST_COLUMNS = 8
"""Products of one turn at most: so the results of two slices are in registers, and what a slice has read."""

FEWEST_COLUMNS = 5
"""Products of one turn of a sum at least: each turn takes instructions of its own to add them."""


def turns_of_sum(columns: int) -> int:
    """In how many turns products come that are added to others, each of as many columns; 0 if one after another."""
    if columns > LONG:
        for each in range(MOST_COLUMNS, FEWEST_COLUMNS - 1, -1):
            if columns % each == 0:
                return columns // each
    return 0


def turns_with_constant(columns: int, blocks: int) -> int:
    """The same of products that only a constant is added to, in so many instructions: as many turns, or none."""
    evenly = blocks > 1 and columns % blocks == 0
    return blocks if columns > LONG and evenly and columns // blocks <= MOST_COLUMNS else 0


@dataclass
class Blocks:
    """The instructions that were issued last, if they alternate some columns at a time."""

    _turns: int = 0
    _written: set[int] = field(default_factory=set[int])
    _free: dict[Shape, list[int]] = field(default_factory=dict[Shape, list[int]])

    def join(self, turns: int) -> bool:
        """Whether an instruction in so many turns would alternate with them."""
        return 0 < turns == self._turns

    def wrote(self, value: int) -> bool:
        """Whether the value is a result of theirs."""
        return value in self._written

    def issued(self, result: int, turns: int, repeat: int, chained: bool) -> None:
        """Notes an instruction."""
        if not (chained and self.join(turns)):
            self._turns = turns if turns < repeat else 0
            self._written.clear()
            self._free.clear()
        self._written.add(result)

    def leave(self, shape: Shape, value: int) -> None:
        """A tile that nothing reads any more may hold something else in every turn."""
        self._free.setdefault(shape, []).append(value)

    def take(self, shape: Shape) -> int | None:
        """A tile that was left, or None."""
        free = self._free.get(shape)
        return free.pop() if free else None
