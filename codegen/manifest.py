"""``manifest.json``: what a package is, what it was made from, and the size and hash of each of its files."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, cast

import numpy as np

from ..analysis.json_record import parse_json, require_whole
from ..support.diagnostics import TileError
from .archive import RECOMPILE, FileFacts, corrupt
from .columns import Program, Target
from .isa import ISA, OP_LIMIT, Op, Unit
from .memory_image import TensorLayout

FORMAT = "tile-package"
VERSION = 2
_DTYPES = frozenset("float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool".split())
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)?")
_MOST_RANK = 16


@dataclass(frozen=True)
class Origin:
    """Something that the package was made from: a name without path, and the hash of its content."""

    name: str = ""
    sha256: str = ""


@dataclass(frozen=True)
class Manifest:
    """The content of the manifest, without statistics. ``indexed`` holds the numbers of the tensors with a table."""

    machine: Origin
    model: Origin
    options: Mapping[str, object]
    global_memory_bytes: int
    inputs: tuple[TensorLayout, ...]
    outputs: tuple[TensorLayout, ...]
    files: Mapping[str, FileFacts]
    target: Target
    samples: int = 1
    indexed: frozenset[int] = field(default=frozenset())


def manifest_text(manifest: Manifest, program: Program) -> bytes:
    """The manifest as it stands in the package."""
    layouts = (*manifest.inputs, *manifest.outputs)
    content = {
        "format": FORMAT,
        "version": VERSION,
        "machine": asdict(manifest.machine),
        "model": asdict(manifest.model),
        "options": dict(sorted(manifest.options.items())),
        "samples": manifest.samples,
        "target": asdict(manifest.target),
        "global_memory_bytes": manifest.global_memory_bytes,
        "inputs": [_tensor(layout) for layout in layouts[: len(manifest.inputs)]],
        "outputs": [_tensor(layout) for layout in layouts[len(manifest.inputs) :]],
        "statistics": statistics(program),
        "files": {name: asdict(facts) for name, facts in sorted(manifest.files.items())},
    }
    content["sha256"] = content_sha256(content)
    return (json.dumps(content, indent=1) + "\n").encode()


def content_sha256(content: Mapping[str, object]) -> str:
    """The hash of a manifest's fields without its own, however they are laid out: it shows what was edited since."""
    fields = {name: value for name, value in content.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def statistics(program: Program) -> dict[str, Any]:
    """Counts of the whole program and of every core, by unit."""
    histogram = np.zeros((program.core_count, OP_LIMIT), np.int64)
    np.add.at(histogram, (program.core_of_rows(), program.columns.op), 1)
    per_core: dict[str, list[int]] = {"instructions": histogram.sum(axis=1).tolist()}
    for unit in Unit:
        codes = [int(op) for op, info in ISA.items() if info.unit is unit]
        per_core[unit.value] = histogram[:, codes].sum(axis=1).tolist()
    sends = program.columns.op == Op.SEND
    sent = np.bincount(program.core_of_rows()[sends], program.columns.a[sends], program.core_count)
    per_core["sent_bytes"] = sent.astype(np.int64).tolist()
    per_core["arrays"] = [sum(counts) for counts in program.groups]
    opcodes = {info.mnemonic: int(count) for op, info in ISA.items() if (count := histogram[:, op].sum())}
    return {"cores": program.core_count, "opcodes": opcodes, "per_core": per_core}


def _tensor(layout: TensorLayout) -> dict[str, Any]:
    where = {"index": True} if layout.index is not None else {"strides": list(layout.strides)}
    return {
        "name": layout.name,
        "shape": list(layout.shape),
        "dtype": layout.dtype,
        "address_bytes": layout.address_bytes,
        **where,
    }


def parse_manifest(data: bytes, source: str) -> Manifest:
    """Reads a manifest. Every way in which it can be wrong is a user error about ``source``."""
    content = parse_json(data, source)
    if not isinstance(content, dict) or "format" not in content:
        raise TileError(source, "is not the manifest of a package", "name a package that tile-compile wrote")
    found = cast("dict[str, Any]", content)
    if found["format"] != FORMAT:
        raise TileError(
            source,
            f"has format {str(found['format'])[:40]!r}, not {FORMAT!r}",
            "name a package that tile-compile wrote",
        )
    if found.get("version") != VERSION:
        remedy = "read it with the version of tile that wrote it, or compile the model again"
        raise TileError(source, f"has version {str(found.get('version'))[:40]}, this is version {VERSION}", remedy)
    try:
        if found["sha256"] != content_sha256(found):
            raise TileError(source, "does not have the content that its sha256 says", RECOMPILE)
        return _fields(found)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise corrupt(source, f"{type(error).__name__} {error}") from None


def _fields(found: dict[str, Any]) -> Manifest:
    tensors = [*found["inputs"], *found["outputs"]]
    layouts = tuple(_layout(tensor) for tensor in tensors)
    split = len(found["inputs"])
    samples = require_whole(found.get("samples", 1), 1, 2**31)
    if samples > 1 and any(layout.shape[:1] != (samples,) for layout in layouts):
        raise ValueError(f"not all tensors are of {samples} samples")
    return Manifest(
        machine=_origin(found["machine"]),
        model=_origin(found["model"]),
        options=dict(found["options"]),
        global_memory_bytes=require_whole(found["global_memory_bytes"], 0, 2**48),
        inputs=layouts[:split],
        outputs=layouts[split:],
        files={name: _facts(name, facts) for name, facts in found["files"].items()},
        target=Target.from_json(found["target"]),
        samples=samples,
        indexed=frozenset(number for number, tensor in enumerate(tensors) if tensor.get("index") is True),
    )


def _origin(content: dict[str, Any]) -> Origin:
    return Origin(_string(content["name"]), _string(content["sha256"]))


def _facts(name: str, content: dict[str, Any]) -> FileFacts:
    if not _FILE_NAME.fullmatch(name):
        raise ValueError(f"{name[:40]!r} is not a file name")
    return FileFacts(require_whole(content["size_bytes"], 0, 2**62), _string(content["sha256"]))


def _layout(content: dict[str, Any]) -> TensorLayout:
    shape = _wholes(content["shape"], 1, 2**31)
    strides = _wholes(content["strides"], -(2**40), 2**40) if "strides" in content else (0,) * len(shape)
    if len(strides) != len(shape) or len(shape) > _MOST_RANK or np.prod(shape, dtype=object) > 2**31:
        raise ValueError(f"a tensor of shape {list(shape)} with strides {list(strides)}")
    if content["dtype"] not in _DTYPES:
        raise ValueError(f"element type {str(content['dtype'])[:40]!r}")
    address = require_whole(content["address_bytes"], 0, 2**48)
    return TensorLayout(_string(content["name"]), shape, address, strides, content["dtype"])


def _wholes(values: Sequence[object], least: int, most: int) -> tuple[int, ...]:
    return tuple(require_whole(value, least, most) for value in values)


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{str(value)[:40]} is no string")
    return value
