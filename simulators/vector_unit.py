"""What each operation on local memory does to the data, in ``float32``.

A memory has one row an element; when many samples run at once it has one column a sample. Every function takes the
memory, the element where its result goes, where its operands begin, and a length, and works for both shapes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ..codegen.isa import Op

Memory = npt.NDArray[np.float32]
Operation = Callable[[Memory, int, int, int, int], None]
"""(memory, to, from, second, length). ``second`` is the second operand's element, a stride, a bound or a constant."""

_MOST_SHIFT = 300.0


def _add(m: Memory, to: int, x: int, y: int, n: int) -> None:
    np.add(m[x : x + n], m[y : y + n], out=m[to : to + n])


def _subtract(m: Memory, to: int, x: int, y: int, n: int) -> None:
    np.subtract(m[x : x + n], m[y : y + n], out=m[to : to + n])


def _maximum(m: Memory, to: int, x: int, y: int, n: int) -> None:
    np.maximum(m[x : x + n], m[y : y + n], out=m[to : to + n])


def _multiply(m: Memory, to: int, x: int, y: int, n: int) -> None:
    np.multiply(m[x : x + n], m[y : y + n], out=m[to : to + n])


def _shift_left(m: Memory, to: int, x: int, y: int, n: int) -> None:
    np.ldexp(m[x : x + n], _exponents(m[y : y + n]), out=m[to : to + n])


def _shift_right(m: Memory, to: int, x: int, y: int, n: int) -> None:
    np.ldexp(m[x : x + n], -_exponents(m[y : y + n]), out=m[to : to + n])


def _exponents(values: Memory) -> npt.NDArray[np.int32]:
    return np.clip(np.nan_to_num(values), -_MOST_SHIFT, _MOST_SHIFT).astype(np.int32)


def _dot(m: Memory, to: int, x: int, y: int, n: int) -> None:
    m[to] = np.add.reduce(m[x : x + n] * m[y : y + n], axis=0)


def _relu(m: Memory, to: int, x: int, _: int, n: int) -> None:
    np.maximum(m[x : x + n], 0, out=m[to : to + n])


def _gather(m: Memory, to: int, x: int, stride: int, n: int) -> None:
    m[to : to + n] = m[x : x + (n - 1) * stride + 1 : stride] if stride else m[x]


def _average(m: Memory, to: int, x: int, stride: int, n: int) -> None:
    m[to] = np.add.reduce(m[x : x + (n - 1) * stride + 1 : stride], axis=0) / np.float32(n) if stride else m[x]


def _tanh(m: Memory, to: int, x: int, _: int, n: int) -> None:
    np.tanh(m[x : x + n], out=m[to : to + n])


def _sigmoid(m: Memory, to: int, x: int, _: int, n: int) -> None:
    m[to : to + n] = 1 / (1 + np.exp(-m[x : x + n]))


def _clamp_above(m: Memory, to: int, x: int, bound: int, n: int) -> None:
    np.minimum(m[x : x + n], np.float32(bound), out=m[to : to + n])


def _clamp_below(m: Memory, to: int, x: int, bound: int, n: int) -> None:
    np.maximum(m[x : x + n], np.float32(bound), out=m[to : to + n])


def _copy(m: Memory, to: int, x: int, _: int, n: int) -> None:
    m[to : to + n] = m[x : x + n]


def _fill(m: Memory, to: int, _: int, constant: int, n: int) -> None:
    m[to : to + n] = constant


OPERATIONS: dict[Op, Operation] = {
    Op.VVADD: _add,
    Op.VVSUB: _subtract,
    Op.VVMAX: _maximum,
    Op.VVMUL: _multiply,
    Op.VVSLL: _shift_left,
    Op.VVSRA: _shift_right,
    Op.VVDMUL: _dot,
    Op.VRELU: _relu,
    Op.VMV: _gather,
    Op.VAVG: _average,
    Op.VTANH: _tanh,
    Op.VSIGM: _sigmoid,
    Op.VRSU: _clamp_above,
    Op.VRSL: _clamp_below,
    Op.LMV: _copy,
    Op.LLDI: _fill,
}
"""Everything but matrix products, global memory and communication."""


def matrix_product(weights: Memory, width: int, relu: bool) -> Operation:
    """``mvmul`` on a group that holds these weights and writes ``width`` elements."""
    rows, columns = weights.shape
    transposed = weights.T

    def multiply(m: Memory, to: int, x: int, _: int, __: int) -> None:
        product = transposed.dot(m[x : x + rows])
        if relu:
            np.maximum(product, 0, out=product)
        m[to : to + columns] = product
        if width > columns:
            m[to + columns : to + width] = 0

    return multiply


def load(shared: Memory) -> Operation:
    """``ld`` from a global memory."""

    def move(m: Memory, to: int, x: int, _: int, n: int) -> None:
        m[to : to + n] = shared[x : x + n]

    return move


def store(shared: Memory) -> Operation:
    """``st`` to a global memory."""

    def move(m: Memory, to: int, x: int, _: int, n: int) -> None:
        shared[to : to + n] = m[x : x + n]

    return move
