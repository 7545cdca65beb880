"""Dumps as files of a directory, from each of which the compilation can go on: with the arrays that they name."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from ..support.files import atomic_file
from .instrumentation import PassRun
from .ir_text import elision

if TYPE_CHECKING:
    from ..dialects.tile import ResourcesWriter

RESOURCES_NAME = "resources.npz"


class IRTree:
    """A sink of dumps: each goes to a file of its own, `ROOT/builtin_module_NAME/INDEX_PASS.mlir`, its arrays to
    `ROOT/resources.npz`.

    An array is written when a dump names it first, so that none is kept for it.
    """

    def __init__(self, root: Path, elide_larger_than: int | None = None) -> None:
        """``elide_larger_than``: as in the `PrintOptions` of the dumps."""
        self.root = root
        self._elide_larger_than = elide_larger_than
        self._unfinished = ExitStack()
        self._resources: ResourcesWriter | None = None

    def __call__(self, title: str, text: str, run: PassRun) -> None:
        symbol = run.module.sym_name
        folder = self.root / f"builtin_module_{'no-symbol-name' if symbol is None else _file_name(symbol.data)}"
        folder.mkdir(parents=True, exist_ok=True)
        suffix = {"Before": "_before", "After": ""}.get(title, "_failed")
        with atomic_file(folder / f"{run.index}_{run.name}{suffix}.mlir") as temporary:
            temporary.write_text(text, encoding="utf-8")
        self._add_resources(run.module)

    def _add_resources(self, module: ModuleOp) -> None:
        # Without the module there are no arrays, and numpy need not be loaded.
        tile = sys.modules.get("tilec.dialects.tile")
        if tile is None:
            return
        with elision(self._elide_larger_than):
            arrays = tile.collect_resources(module)
        if arrays and self._resources is None:
            self._resources = self._unfinished.enter_context(tile.resources_writer(self.root / RESOURCES_NAME))
        if self._resources is not None:
            try:
                self._resources.add(arrays)
            except BaseException:
                self._drop()  # It ends amid an array.
                raise

    @contextmanager
    def open(self) -> Generator[None]:
        """Within it dumps are taken. The file of arrays is in its place after it, also if a pass has failed; not if the
        tool was interrupted."""
        try:
            yield
        except BaseException as error:
            if not isinstance(error, Exception):
                self._drop()
            raise
        finally:
            self._unfinished.close()

    def _drop(self) -> None:
        """Leaves no file of arrays, because of the exception that is handled."""
        self._unfinished.pop_all().__exit__(*sys.exc_info())


def _file_name(name: str) -> str:
    return "".join(character if character.isalnum() or character in "._-" else "_" for character in name)
