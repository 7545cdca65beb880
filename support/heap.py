"""A binary heap of numbers in a part of a column, for kernels. Interpreted, the standard library's is quicker."""

from __future__ import annotations

from .kernel_columns import Column


def heap_push(heap: Column, first: int, count: int, number: int) -> None:
    """Puts a number into the heap, whose ``count`` entries begin at ``first``."""
    place = count
    while place > 0:
        parent = (place - 1) >> 1
        above = heap[first + parent]
        if above <= number:
            break
        heap[first + place] = above
        place = parent
    heap[first + place] = number


def heap_pop(heap: Column, first: int, count: int) -> int:
    """The least of the ``count`` numbers from ``first`` on, which is not in the heap any more."""
    found = heap[first]
    count -= 1
    last = heap[first + count]
    place = 0
    child = 1
    while child < count:
        if child + 1 < count and heap[first + child + 1] < heap[first + child]:
            child += 1
        if heap[first + child] >= last:
            break
        heap[first + place] = heap[first + child]
        place = child
        child = 2 * place + 1
    heap[first + place] = last
    return found
