"""What the inputs and outputs of a network are in every dialect with rows: `spat` and `pim`."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import ArrayAttr as BuiltinArrayAttr
from xdsl.dialects.builtin import ShapedType, StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, opt_prop_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from .interned import Integer
from .shaped_types import ROWS
from .tile import ArrayAttr
from .verification import output_images, verify_element, verify_output


class NetworkInputOp(IRDLOperation, ABC):
    """An input: its logical shape (images, channels[, height, width]), as rows.

    It is not `Pure`: it declares a part of the program's interface, so that a pass that knows nothing of it may not
    delete it where nothing reads it.
    """

    input_name = prop_def(StringAttr)
    shape = prop_def(ArrayAttr)
    element = opt_prop_def()
    result = result_def(ROWS)
    assembly_format = "$input_name `shape` $shape (`as` $element^)? attr-dict `:` type($result)"

    def __init__(
        self, name: StringAttr, shape: ArrayAttr, result_type: Attribute, element: Attribute | None = None
    ) -> None:
        super().__init__(
            properties={"input_name": name, "shape": shape, "element": element}, result_types=[result_type]
        )

    @property
    def logical_shape(self) -> tuple[int, ...]:
        return tuple(map(int, self.shape.array))

    def verify_(self) -> None:
        verify_element(self.element)
        assert isinstance(self.result.type, ShapedType)
        size, held = int(np.prod(self.logical_shape, dtype=np.int64)), self.result.type.element_count()
        if size != held:
            raise VerifyException(f"an input of {size} elements has {held} as {self.result.type}")


class NetworkOutputOp(IRDLOperation, ABC):
    """An output: tensors or buffers of rows, and which logical channels each of them holds.

    ``shape`` is a row-major reshape of (images, channels, height, columns); ``images`` is given if it does not start
    so.
    """

    output_name = prop_def(StringAttr)
    shape = prop_def(ArrayAttr)
    channels = prop_def(BuiltinArrayAttr[ArrayAttr])
    element = opt_prop_def()
    images = opt_prop_def(Integer)
    assembly_format = (
        "$output_name `shape` $shape (`as` $element^)? (`images` $images^)? `channels` $channels $values attr-dict "
        "`:` type($values)"
    )

    def __init__(
        self,
        name: StringAttr,
        shape: ArrayAttr,
        channels: BuiltinArrayAttr[ArrayAttr],
        values: Sequence[SSAValue],
        images: Integer | None = None,
        element: Attribute | None = None,
    ) -> None:
        super().__init__(
            operands=[values],
            properties={
                "output_name": name,
                "shape": shape,
                "channels": channels,
                "images": images,
                "element": element,
            },
        )

    @property
    def logical_shape(self) -> tuple[int, ...]:
        return tuple(map(int, self.shape.array))

    @property
    def image_count(self) -> int:
        return output_images(self.shape, self.images)

    def verify_(self) -> None:
        verify_element(self.element)
        verify_output(self.shape, self.images, self.channels.data, tuple(self.operands))
