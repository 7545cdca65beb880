"""A package to write, read and damage."""

from __future__ import annotations

import numpy as np
from programs import load, program, store
from tilec.codegen import manifest
from tilec.codegen.memory_image import Constant, GlobalMemory, TensorLayout, WeightTable
from tilec.codegen.package import (
    Package,
)

ORIGIN = manifest.Origin("model.onnx", "ab" * 32)


def example() -> Package:
    """A package with something of everything."""
    made = program(load(8) + "\nmvmul r0, r30, mbiw=8, group=1, relu=1\n" + store(8, 0), "", groups=[[1, 2], [1]])
    shared = np.arange(32, dtype=np.float32).reshape(8, 4)
    weights = WeightTable.from_groups([[shared, np.ones((3, 8), np.float32)], [shared]])
    index = np.array([[3, 1], [2, 0]], np.int64)
    return Package(
        made,
        weights,
        GlobalMemory(256, (Constant(64, np.array([1.5, -2], np.float32)), Constant(80, np.zeros(0, np.float32)))),
        (TensorLayout("x", (2, 2), 0, index=index), TensorLayout("m", (2, 3), 16, (1, 2), "int8")),
        (TensorLayout.row_major("y", (1, 8), 128),),
        machine=manifest.Origin("tiny", "cd" * 32),
        model=ORIGIN,
        options={"replicas": 4, "guard": True, "name": "ü"},
        reports={"hints.txt": b"none", "proxies.json": b"{}"},
    )
