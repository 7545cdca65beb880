"""The instruction set: opcodes, units, and the field table that every encoder, decoder and checker shares.

An instruction is one row of eight integer columns (:mod:`.columns`): ``op rd rs1 rs2 a b c select``. The table below
says what the three immediates mean for each opcode and under which names they stand in the simulator's JSON. Reference:
*ISA for Processing-in-Memory DNN Accelerators*, arXiv 2308.06449. Not here, because the public simulator cannot execute
them: ``nop`` (hangs the core) and ``sld`` (clobbers r0).

An instruction may add one offset, in ``c``, to some of its addresses in local memory: those of the registers whose
`OFFSET_BITS` are set in ``select``. It counts elements in vector instructions and bytes in transfers. ``mvmul`` has no
offset, nor have results of ``vvdmul``, ``vavg`` and ``vmv``, sources of ``vmv``, and operands that are no local
address.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum

REGISTER_COUNT = 32
EVENT_COUNT = 32
INT32_MIN = -(2**31)
INT32_MAX = 2**31 - 1


class Op(IntEnum):
    """Opcodes. Zero is not one, so that a zeroed column is never a program."""

    SETBW = 1
    SLDI = 2
    SADD = 3
    SSUB = 4
    SMUL = 5
    SADDI = 6
    SMULI = 7
    MVMUL = 8
    VVADD = 9
    VVSUB = 10
    VVMAX = 11
    VVMUL = 12
    VVSLL = 13
    VVSRA = 14
    VVDMUL = 15
    VRELU = 16
    VMV = 17
    VAVG = 18
    VTANH = 19
    VSIGM = 20
    VRSU = 21
    VRSL = 22
    LD = 23
    ST = 24
    LLDI = 25
    LMV = 26
    SEND = 27
    RECV = 28
    SYNC = 29
    WAIT = 30


OP_LIMIT = max(Op) + 1
"""One more than the largest opcode: the size of a table that is indexed by opcode."""


OFFSET_BITS = {"rd": 1, "rs1": 2, "rs2": 4}
"""By register column, what ``select`` contains if the offset is added to that operand."""

REGISTER_COLUMNS = tuple(OFFSET_BITS)
"""The columns that hold numbers of registers: of the destination, the source and the second source."""


class Unit(Enum):
    """Where an instruction executes. SETUP and SCALAR leave the pipeline at decode and never end a program."""

    SETUP = "setup"
    SCALAR = "scalar"
    MATRIX = "matrix"
    VECTOR = "vector"
    TRANSFER = "transfer"


@dataclass(frozen=True)
class Field:
    """One operand: the column that holds it, its name in assembly, and the JSON keys it is written under.

    Most operands have one key of the same name. ``lmv`` and ``lldi`` write their length twice because the simulator
    takes the time from ``len`` and the address range from ``size``; ``send`` writes its register twice because time
    comes from ``rd`` and the range from ``rs1``.
    """

    column: str
    name: str
    least: int
    most: int
    json_keys: tuple[str, ...]


@dataclass(frozen=True)
class OpInfo:
    """What is known of one opcode."""

    op: Op
    unit: Unit
    fields: tuple[Field, ...]
    meaning: str
    offsets: tuple[str, ...] = ()
    """The register columns that the offset may be added to."""

    @property
    def selectable(self) -> int:
        """All bits that ``select`` may have."""
        return sum(OFFSET_BITS[column] for column in self.offsets)

    @property
    def mnemonic(self) -> str:
        """The name in assembly and in the simulator's JSON."""
        return self.op.name.lower()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that carry an operand; in every other column a valid instruction has zero, but for an offset."""
        return tuple(field.column for field in self.fields)


def _register(column: str, most: int = REGISTER_COUNT - 1, json_keys: tuple[str, ...] = ()) -> Field:
    return Field(column, column, 0, most, json_keys or (column,))


def _immediate(column: str, name: str, least: int, most: int = INT32_MAX, json_keys: tuple[str, ...] = ()) -> Field:
    return Field(column, name, least, most, json_keys or (name,))


_RD, _RS1, _RS2 = _register("rd"), _register("rs1"), _register("rs2")
_PAIR = REGISTER_COUNT - 2
_IMM = _immediate("a", "imm", INT32_MIN)
_LEN = _immediate("a", "len", 1)
_SIZE = _immediate("a", "size", 1)
_CORE = _immediate("b", "core", 0)
_EVENT = _immediate("a", "event", 0, EVENT_COUNT - 1, ("event_register",))
_BYTES = _immediate("a", "len", 1, INT32_MAX, ("len", "size"))

_BINARY = (_RD, _RS1, _RS2, _LEN)
_UNARY = (_RD, _RS1, _LEN)


_NO_OFFSETS: dict[Op, tuple[str, ...]] = {
    Op.VVDMUL: ("rd",),
    Op.VAVG: ("rd", "rs2"),
    Op.VMV: ("rd", "rs1", "rs2"),
    Op.VRSU: ("rs2",),
    Op.VRSL: ("rs2",),
    Op.LD: ("rs1",),
    Op.ST: ("rd",),
}
"""Registers of vector and transfer instructions that take no offset."""


def _info(op: Op, unit: Unit, fields: tuple[Field, ...], meaning: str) -> OpInfo:
    takes = unit in (Unit.VECTOR, Unit.TRANSFER)
    columns = [field.column for field in fields] if takes else []
    offsets = (name for name in columns if name in OFFSET_BITS and name not in _NO_OFFSETS.get(op, ()))
    return OpInfo(op, unit, fields, meaning, tuple(offsets))


_TABLE = (
    _info(
        Op.SETBW,
        Unit.SETUP,
        (_immediate("a", "ibiw", 1, 64), _immediate("b", "obiw", 1, 64)),
        "bit widths of the inputs and outputs of all later instructions",
    ),
    _info(Op.SLDI, Unit.SCALAR, (_RD, _IMM), "r[rd] = imm"),
    _info(Op.SADD, Unit.SCALAR, (_RD, _RS1, _RS2), "r[rd] = r[rs1] + r[rs2]"),
    _info(Op.SSUB, Unit.SCALAR, (_RD, _RS1, _RS2), "r[rd] = r[rs1] - r[rs2]"),
    _info(Op.SMUL, Unit.SCALAR, (_RD, _RS1, _RS2), "r[rd] = r[rs1] * r[rs2]"),
    _info(Op.SADDI, Unit.SCALAR, (_RD, _RS1, _IMM), "r[rd] = r[rs1] + imm"),
    _info(Op.SMULI, Unit.SCALAR, (_RD, _RS1, _IMM), "r[rd] = r[rs1] * imm"),
    _info(
        Op.MVMUL,
        Unit.MATRIX,
        (_RD, _RS1, _immediate("a", "mbiw", 1, 64), _immediate("b", "group", 0), _immediate("c", "relu", 0, 1)),
        "y = x @ W[group]; columns that W does not use become 0; relu = 1 clamps at 0 from below",
    ),
    _info(Op.VVADD, Unit.VECTOR, _BINARY, "y[i] = x1[i] + x2[i]"),
    _info(Op.VVSUB, Unit.VECTOR, _BINARY, "y[i] = x1[i] - x2[i]"),
    _info(Op.VVMAX, Unit.VECTOR, _BINARY, "y[i] = max(x1[i], x2[i])"),
    _info(Op.VVMUL, Unit.VECTOR, _BINARY, "y[i] = x1[i] * x2[i]"),
    _info(Op.VVSLL, Unit.VECTOR, _BINARY, "y[i] = x1[i] * 2 ** trunc(x2[i])"),
    _info(Op.VVSRA, Unit.VECTOR, _BINARY, "y[i] = x1[i] / 2 ** trunc(x2[i])"),
    _info(Op.VVDMUL, Unit.VECTOR, _BINARY, "y[0] = sum(x1[i] * x2[i])"),
    _info(Op.VRELU, Unit.VECTOR, _UNARY, "y[i] = max(x1[i], 0)"),
    _info(Op.VMV, Unit.VECTOR, _BINARY, "y[i] = x1[i * r[rs2]]: gathers with a stride in elements"),
    _info(Op.VAVG, Unit.VECTOR, _BINARY, "y[0] = mean(x1[i * r[rs2]])"),
    _info(Op.VTANH, Unit.VECTOR, _UNARY, "y[i] = tanh(x1[i])"),
    _info(Op.VSIGM, Unit.VECTOR, _UNARY, "y[i] = 1 / (1 + exp(-x1[i]))"),
    _info(Op.VRSU, Unit.VECTOR, _BINARY, "y[i] = min(x1[i], r[rs2])"),
    _info(Op.VRSL, Unit.VECTOR, _BINARY, "y[i] = max(x1[i], r[rs2])"),
    _info(
        Op.LD,
        Unit.TRANSFER,
        (_RD, _register("rs1", _PAIR), _SIZE),
        "local[r[rd]..] = global[r[rs1]:r[rs1 + 1]..], high word first",
    ),
    _info(
        Op.ST,
        Unit.TRANSFER,
        (_register("rd", _PAIR), _RS1, _SIZE),
        "global[r[rd]:r[rd + 1]..] = local[r[rs1]..], high word first",
    ),
    _info(Op.LLDI, Unit.TRANSFER, (_RD, _BYTES, _immediate("b", "imm", INT32_MIN)), "every element of len bytes = imm"),
    _info(Op.LMV, Unit.TRANSFER, (_RD, _RS1, _BYTES), "local[r[rd]..] = local[r[rs1]..]"),
    _info(
        Op.SEND,
        Unit.TRANSFER,
        (_register("rs1", json_keys=("rd", "rs1")), _SIZE, _CORE),
        "blocks until core executes recv, then sends local[r[rs1]..]",
    ),
    _info(Op.RECV, Unit.TRANSFER, (_RD, _SIZE, _CORE), "blocks until core sends, then local[r[rd]..] = the data"),
    _info(Op.SYNC, Unit.TRANSFER, (_EVENT, _CORE), "event[core][event] += 1"),
    _info(
        Op.WAIT,
        Unit.TRANSFER,
        (_EVENT, _immediate("b", "value", 0, json_keys=("wait_value",))),
        "blocks until event equals value, then clears it",
    ),
)

ISA: dict[Op, OpInfo] = {info.op: info for info in _TABLE}
"""The whole instruction set, in opcode order."""

BY_CODE: dict[int, OpInfo] = {int(info.op): info for info in _TABLE}

BY_MNEMONIC: dict[str, OpInfo] = {info.mnemonic: info for info in _TABLE}

SCALAR_OPS = frozenset(info.op for info in _TABLE if info.unit is Unit.SCALAR)
VECTOR_OPS = frozenset(info.op for info in _TABLE if info.unit is Unit.VECTOR)

TWO_VECTOR_OPS = frozenset({Op.VVADD, Op.VVSUB, Op.VVMAX, Op.VVMUL, Op.VVSLL, Op.VVSRA, Op.VVDMUL})
"""Vector operations that read a second vector from local memory (elsewhere rs2 is a number, or absent)."""

OUTPUT_WIDTH_OPS = frozenset({Op.VVMUL, Op.VVSLL, Op.VVSRA, Op.VTANH, Op.VSIGM, Op.VRSU, Op.VRSL})
"""Vector operations whose result has the output bit width; the others write at the input bit width."""

ONE_ELEMENT_OPS = frozenset({Op.VVDMUL, Op.VAVG})
"""Vector operations that produce one element (the timing model still charges the write of ``len``)."""


def mnemonic(code: int) -> str:
    """The name of an opcode, for messages; any number is accepted."""
    info = BY_CODE.get(code)
    return info.mnemonic if info else f"opcode {code}"


assert list(ISA) == list(Op), "the table lists every opcode in order"
