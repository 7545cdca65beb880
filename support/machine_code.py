"""Kernels: sequential loops in a small subset of Python (:mod:`.llvm_text`), as machine code if llvmlite is installed.

The code is made once for a type of processor, in a few tenths of a second, and kept in the user's cache folder
(``$XDG_CACHE_HOME/tile``, by default ``~/.cache/tile``), from where later processes load it in a few hundredths of a
second. If the folder cannot be written to, each process makes its own.

Wherever there is a kernel, there is a twin of it that needs no llvmlite, and both give the same. By convention, the
module that uses them has

- the :class:`Kernel`, whose text is a module of its own, ``…_kernel.py``, or several in a package, one of which is the
  ``layout``;
- ``WORTH_COMPILING``: how much there has to be to do for the kernel to be taken, as measured. Tests set it to compare
  the twins;
- as the twin either the same text, interpreted on lists (:func:`.kernel_columns.as_lists`): where each step depends on
  the one before; or a function ``_vectorized`` of numpy, or ``_interpreted`` if it loops, beside ``_compiled``.
"""

from __future__ import annotations

import ast
import ctypes
import hashlib
import importlib
import importlib.util
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from . import llvm_text
from .diagnostics import TileError
from .files import atomic_file

_OLDEST_LLVM = (17, 0, 0)
"""The first in which pointers have no types, as in our text. llvmlite has one since 0.45."""
_MOST_KEPT = 8
"""Versions of the code of one kernel that are kept."""
_DIGEST_BYTES = 32
_KINDS = {"_pj": np.float64, "_u8": np.uint8, "_i32": np.int32}


def can_compile() -> bool:
    """Whether llvmlite is there, new enough, and not switched off (``TILE_NO_LLVM=1``)."""
    return not os.environ.get("TILE_NO_LLVM") and _llvm_version() >= _OLDEST_LLVM


@cache
def _llvm_version() -> tuple[int, ...]:
    """That of llvmlite; of nothing, if it is not there."""
    if importlib.util.find_spec("llvmlite") is None:
        return ()
    return importlib.import_module("llvmlite.binding").llvm_version_info


@dataclass(frozen=True)
class Kernel:
    """A function ``run(facts, code, state, number)`` and those that it calls, in one or more modules."""

    name: str
    """What the files of its machine code begin with."""
    modules: tuple[ModuleType, ...]
    layout: ModuleType
    """Has the named tuples ``Facts``, ``Code`` and ``State``, and the constants: whole numbers in capitals."""

    def run(self, facts: Sequence[int], code: Sequence[Any], state: Sequence[Any], number: int) -> int:
        """What ``run`` returns, on arrays of the types that `llvm_text` states. The state changes.

        Other threads run meanwhile.
        """
        numbers = np.array(facts, np.int64)
        columns = [numbers[place : place + 1] for place in range(len(numbers))]
        columns += [cast("npt.NDArray[Any]", column) for column in (*code, *state)]
        for (name, kind), column in zip(_typed_columns(self), columns, strict=True):
            assert column.dtype == kind, name
            assert column.flags.c_contiguous, name
        pointers = (ctypes.c_void_p * len(columns))(*map(_address, columns))
        return function(self)(pointers, number)

    def columns(self) -> list[str]:
        """All columns as ``owner.name``, in the order in which they are passed."""
        owners = (self.layout.Facts, self.layout.Code, self.layout.State)
        return [f"{owner.__name__.lower()}.{name}" for owner in owners for name in owner._fields]

    def constants(self) -> dict[str, int]:
        """The numbers that functions of the kernel know by name; they may come from other modules."""
        return {
            name: int(value) for name, value in vars(self.layout).items() if name.isupper() and isinstance(value, int)
        }

    def text(self) -> str:
        """The kernel in LLVM's language."""
        functions = [node for module in self.modules for node in _functions(Path(str(module.__file__)))]
        return llvm_text.llvm_module(functions, self.constants(), self.columns(), "run")


_buffer_of: Callable[[Any], ctypes.Array[ctypes.c_char]] = (ctypes.c_char * 0).from_buffer


def _address(column: npt.NDArray[Any]) -> int:
    """Where the column begins, several times as fast as by ``ctypes.data``: there are many columns."""
    try:
        return ctypes.addressof(_buffer_of(column))
    except TypeError:  # it is only to be read
        return column.ctypes.data


@cache
def _typed_columns(kernel: Kernel) -> list[tuple[str, np.dtype[Any]]]:
    """Names and types of elements."""
    return [(name, np.dtype(_KINDS.get(name[-4:], _KINDS.get(name[-3:], np.int64)))) for name in kernel.columns()]


@cache
def function(kernel: Kernel) -> Callable[..., int]:
    """The kernel's ``run``, which keeps the engine that holds its machine code alive."""
    llvm: Any = importlib.import_module("llvmlite.binding")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    processor, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    triple = llvm.get_process_triple()
    target = llvm.Target.from_triple(triple).create_target_machine(cpu=processor, features=features, opt=1, jit=True)
    sources = [Path(str(module.__file__)).read_bytes() for module in (*kernel.modules, kernel.layout, llvm_text)]
    made_by = f"{llvm.llvm_version_info} {triple} {processor} {features} {sorted(kernel.constants().items())}".encode()
    name = f"{kernel.name}-{hashlib.sha256(b'|'.join([made_by, *sources])).hexdigest()[:32]}.o"
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
    engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(_object_code(kernel, llvm, target, name)))
    engine.finalize_object()
    found = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(engine.get_function_address("run"))
    cast("Any", found).engine = engine
    return found


def _object_code(kernel: Kernel, llvm: Any, target: Any, name: str) -> bytes:
    folder = _cache_folder()
    try:
        kept = (folder / name).read_bytes()
    except OSError:
        kept = b""
    code = kept[_DIGEST_BYTES:]
    if kept and hashlib.sha256(code).digest() == kept[:_DIGEST_BYTES]:
        return code
    module = llvm.parse_assembly(kernel.text())
    module.verify()
    # There are no loops here that more effort would make faster.
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    options.loop_vectorization = options.loop_unrolling = options.slp_vectorization = False
    builder = llvm.create_pass_builder(target, options)
    builder.getModulePassManager().run(module, builder)
    code = cast("bytes", target.emit_object(module))
    _keep(kernel, folder, name, hashlib.sha256(code).digest() + code)
    return code


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path(os.path.expanduser("~")) / ".cache") / "tile"


def _keep(kernel: Kernel, folder: Path, name: str, content: bytes) -> None:
    """Keeps the code, with the latest that other versions have made. A folder that cannot be written to is no error."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        others = sorted(folder.glob(f"{kernel.name}-*.o"), key=lambda path: path.stat().st_mtime)
        for other in others[: 1 - _MOST_KEPT]:
            other.unlink(missing_ok=True)
        with atomic_file(folder / name) as temporary:
            temporary.write_bytes(content)
    except (OSError, TileError):
        pass


def _functions(path: Path) -> Iterator[ast.FunctionDef]:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            yield node
