"""Arrays from and to numpy's files, as the command line of `tile-run` names them."""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..codegen.arrays_file import ArraysWriter
from ..codegen.memory_image import TensorLayout
from ..support.diagnostics import TileError, system_reason
from ..support.files import atomic_file, require_file, require_folder
from ..support.source import choices, suggestion

Array = npt.NDArray[Any]

MAX_RANDOM_BYTES = 2**32


def read_inputs(
    arguments: Sequence[str], layouts: Sequence[TensorLayout], batch: bool, samples: int = 1
) -> dict[str, Array]:
    """The inputs by name, from `[NAME=]FILE[:KEY]`, in the shapes of the layouts: of ``samples``, with ``batch`` of
    one, behind an axis of all that are given."""
    names = [layout.name for layout in layouts]
    found: dict[str, Array] = {}
    for argument in arguments:
        name, file = _split_name(argument, names)
        if name in found:
            raise TileError(f"--input {argument}", f"input '{name}' is given twice", "give it once")
        found[name] = read_array(file, name)
    if missing := [name for name in names if name not in found]:
        raise TileError(
            "--input", f"nothing is given for {choices(missing)}", "add --input NAME=FILE, or --random SEED"
        )
    return {layout.name: _shaped(found[layout.name], layout, batch, samples) for layout in layouts}


def random_inputs(seed: int, layouts: Sequence[TensorLayout], samples: int | None) -> dict[str, Array]:
    """Standard normal values in the type of each input; with ``samples``, so many of each."""
    generator = np.random.default_rng(seed)
    leading = () if samples is None else (samples,)
    size = (samples or 1) * sum(math.prod(layout.shape) * 8 for layout in layouts)
    if size > MAX_RANDOM_BYTES:
        what = f"{samples or 1} samples take {size} bytes of random numbers, at most {MAX_RANDOM_BYTES} are made"
        raise TileError("--random", what, "lower --limit")
    return {
        layout.name: generator.standard_normal((*leading, *layout.shape)).astype(layout.dtype) for layout in layouts
    }


def array_files(inputs: Sequence[str], layouts: Sequence[TensorLayout], labels: str | None) -> dict[str, Path]:
    """The files that `--input` and `--labels` name, by what errors call them."""
    names = [layout.name for layout in layouts]
    arguments = [_split_name(argument, names)[1] for argument in inputs] + ([] if labels is None else [labels])
    files = [_split_key(argument)[0] for argument in arguments]
    return {f"'{path}', which is read": path for path in files}


def read_array(argument: str, preferred_key: str = "") -> Array:
    """The numeric array that `FILE[:KEY]` names."""
    path, key = _split_key(argument)
    try:
        content: Any = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise TileError(str(path), "does not exist", "name an .npy or .npz file") from None
    except OSError as error:
        raise TileError(str(path), f"cannot be read: {system_reason(error)}", "name an .npy or .npz file") from None
    except (ValueError, EOFError, zipfile.BadZipFile, MemoryError, SyntaxError):
        raise TileError(str(path), "is no .npy or .npz file of numbers", "write it with numpy.save") from None
    array: Array = _member(path, content, key, preferred_key) if hasattr(content, "files") else content
    if array.dtype.kind not in "fiub":
        raise TileError(argument, f"holds elements of type {array.dtype}", "store numbers")
    return array


def _split_name(argument: str, names: Sequence[str]) -> tuple[str, str]:
    name, equals, file = argument.partition("=")
    if equals and name in names:
        return name, file
    if equals and not Path(argument).exists():
        remedy = suggestion(name, names) or f"it has {choices(names)}"
        raise TileError(f"--input {argument}", f"the package has no input '{name}'", remedy)
    if len(names) != 1:
        raise TileError(f"--input {argument}", f"the package has inputs {choices(names)}", "say which: NAME=FILE")
    return names[0], argument


def _split_key(argument: str) -> tuple[Path, str]:
    file, colon, key = argument.rpartition(":")
    if colon and file.endswith(".npz"):
        return Path(file), key
    return Path(argument), ""


def _member(path: Path, content: Mapping[str, Array], key: str, preferred_key: str) -> Array:
    keys = list(content)
    chosen = key or (keys[0] if len(keys) == 1 else preferred_key)
    if chosen not in keys:
        what = f"has no array '{chosen}'" if chosen else "has several arrays"
        raise TileError(str(path), what, f"it has {choices(keys)}; name one: {path}:KEY")
    try:
        return content[chosen]
    except (ValueError, EOFError, zipfile.BadZipFile, MemoryError, OSError, SyntaxError) as error:
        raise TileError(
            f"{path}:{chosen}", f"cannot be read: {str(error).splitlines()[0]}", "write it with numpy.savez"
        ) from None


def _shaped(array: Array, layout: TensorLayout, batch: bool, samples: int) -> Array:
    """The array with its layout's shape, behind an axis of samples if there are many; a 1 in front may be left out."""
    leading, shape = ((len(array),), array.shape[1:]) if batch and array.ndim else ((), array.shape)
    accepted = [layout.shape]
    if layout.shape[:1] == (1,):
        accepted.append(layout.shape[1:])
    if shape in accepted:
        return array.reshape(*leading, *layout.shape)
    remedy = f"give it {list(layout.shape)}"
    if not batch and (array.shape[1:] in accepted or (samples > 1 and array.shape[1:] == layout.shape[1:])):
        remedy = "add --batch to run each of the samples"
    elif batch:
        remedy = f"give it [N, {', '.join(map(str, accepted[-1]))}]"
    raise TileError(f"input '{layout.name}'", f"has shape {list(array.shape)}", remedy)


def require_fitting_path(path: Path, outputs: int) -> None:
    """A TileError if so many outputs cannot be written to the path."""
    if path.suffix != ".npz" and (path.suffix != ".npy" or outputs != 1):
        raise TileError(str(path), f"cannot hold {outputs} outputs", "name an .npz file, or an .npy file for one")
    if os.path.isdir(path):
        raise TileError(str(path), "is a directory", "name a file, or use --output-dir")
    require_file(path)


def write_outputs(outputs: Mapping[str, Array], path: Path) -> None:
    """Writes all outputs to one file: `.npz`, or `.npy` if there is one output."""
    require_fitting_path(path, len(outputs))
    if path.suffix == ".npy":
        return _write_npy(path, next(iter(outputs.values())))
    with atomic_file(path) as temporary, temporary.open("wb") as file:
        writer = ArraysWriter(file)
        for name, array in outputs.items():
            writer.add(name, array)
        writer.close()


def output_files(names: Iterable[str], folder: Path) -> dict[str, Path]:
    """The `.npy` file of each output; characters that no file name should have become `_`.

    A TileError if one file would hold two of them, or if none can be written there.
    """
    require_folder(folder)
    found: dict[str, Path] = {}
    owners: dict[str, str] = {}
    for name in names:
        safe = (
            "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in name).lstrip(".") or "output"
        )
        if (other := owners.setdefault(safe.lower(), name)) != name:
            what = f"outputs '{other}' and '{name}' would both be {safe}.npy"
            raise TileError(str(folder), what, "write them to one .npz file with -o")
        found[name] = folder / f"{safe}.npy"
    return found


def write_output_files(outputs: Mapping[str, Array], folder: Path) -> None:
    """Writes each output to its own `.npy` file. If one cannot be written, a folder made for them does not stay."""
    files = output_files(outputs, folder)
    made = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, array in outputs.items():
            _write_npy(files[name], array)
    except BaseException:
        for path in [*files.values()] if made else []:
            path.unlink(missing_ok=True)
        with suppress(OSError):
            for one in made:
                one.rmdir()
        raise


def _write_npy(path: Path, array: Array) -> None:
    """As numpy does, which however overlooks that the disk is full before the last 4096 bytes are written."""
    array = np.asarray(array, order="C")
    with atomic_file(path) as temporary, temporary.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
        file.write(array.reshape(-1).view(np.uint8).data)
