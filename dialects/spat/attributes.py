"""Attributes and types of the `spat` dialect."""

from __future__ import annotations

from dataclasses import MISSING, fields

from xdsl.ir import Data, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ...analysis.window import EDGES, RowWindow


@irdl_attr_definition
class WindowAttr(Data[RowWindow]):
    """The access map of one operand of a batch: which of its rows each lane reads (`analysis/window.py`).

    ```mlir
    #spat.window<height 56, lanes 56, rows 3, pad_top 1, pad_left 1, pad_right 1>
    ```
    """

    name = "spat.window"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> RowWindow:
        names = {field.name for field in fields(RowWindow)}
        given: dict[str, int | str] = {}

        def parse_field() -> None:
            key = parser.parse_identifier(context_msg=" for a field of a window")
            if key not in names:
                parser.raise_error(f"unknown field '{key}' of a window; one of {', '.join(sorted(names))} expected")
            if key in given:
                parser.raise_error(f"field '{key}' of a window is given twice")
            if key == "edge":
                edge = parser.parse_identifier(context_msg=" for the edge of a window")
                if edge not in EDGES:
                    parser.raise_error(f"unknown edge '{edge}' of a window; one of {', '.join(EDGES)} expected")
                given[key] = edge
            else:
                given[key] = parser.parse_integer(allow_boolean=False)

        parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parse_field)
        for field in fields(RowWindow):
            if field.default is MISSING and field.name not in given:
                parser.raise_error(f"field '{field.name}' of a window is missing")
        return RowWindow(**given)  # pyright: ignore[reportArgumentType]

    def print_parameter(self, printer: Printer) -> None:
        shown = (
            f"{field.name} {value}"
            for field in fields(RowWindow)
            if (value := getattr(self.data, field.name)) != field.default
        )
        printer.print_string(f"<{', '.join(shown)}>")


@irdl_attr_definition
class ChannelType(ParametrizedAttribute, TypeAttribute):
    """The messages of one deferred communication on their way from `spat.channel_send` to `spat.channel_receive`.

    ```mlir
    !spat.channel
    ```
    """

    name = "spat.channel"
