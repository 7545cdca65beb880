"""Attributes of the `pim` dialect."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ..interned import KEPT


class Access(NamedTuple):
    """Where an instruction reads or writes in a buffer, as a function of its repeat index i.

    The address is element ``start + i * step`` of row ``row + i * row_step``. With a ``cycle``, i counts from 0 to
    ``cycle`` - 1 again and again.
    """

    row: int = 0
    row_step: int = 0
    start: int = 0
    step: int = 0
    cycle: int = 0

    def shifted(self, elements: int) -> Access:
        return self._replace(start=self.start + elements)

    def last(self, repeat: int) -> int:
        """The greatest index that an instruction which repeats so often counts to."""
        return min(repeat, self.cycle or repeat) - 1


@irdl_attr_definition
class AccessAttr(Data[Access]):
    """An access: `[row + row_step i, start + step i]`, where zeros may be left out; i modulo `cycle`, if there is one.

    ```mlir
    #pim.access<row 1, start 64, step 128>
    ```
    """

    name = "pim.access"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Access:
        given: dict[str, int] = {}

        def parse_field() -> None:
            key = parser.parse_identifier(context_msg=" for a field of an access")
            if key not in Access._fields:
                parser.raise_error(f"unknown field '{key}' of an access; one of {', '.join(Access._fields)} expected")
            if key in given:
                parser.raise_error(f"field '{key}' of an access is given twice")
            given[key] = parser.parse_integer(allow_boolean=False)

        parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parse_field)
        return Access(**given)

    def print_parameter(self, printer: Printer) -> None:
        fields = zip(Access._fields, self.data, strict=True)
        printer.print_string(f"<{', '.join(f'{name} {value}' for name, value in fields if value)}>")


@lru_cache(KEPT)
def access_attr(access: Access) -> AccessAttr:
    """The attribute of this access; of one access mostly the same object."""
    return AccessAttr(access)


@lru_cache(KEPT)
def access_list(*accesses: Access) -> ArrayAttr[AccessAttr]:
    """The attribute of these accesses, likewise."""
    return ArrayAttr([access_attr(access) for access in accesses])
