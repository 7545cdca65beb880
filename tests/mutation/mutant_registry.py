"""How the files of mutants list them: one function each, under what a programmer got wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ir_edits import Edit
from mutation_run import Caught, Mutant, PackageEdit


class Stage:
    """The mutants of one pass. A decorated function edits the pass's result; or, with ``patch``, gets the function of
    that name and returns the wrong one that stands for it while the pass runs."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.mutants: list[Mutant] = []

    def edit(self, wrong: str, caught: Caught, *fields: str, **more: Any) -> Callable[[Edit], Edit]:
        def add(edit: Edit) -> Edit:
            self._add(edit.__name__, wrong, caught, fields, edit=edit, **more)
            return edit

        return add

    def package(self, wrong: str, caught: Caught, *fields: str, **more: Any) -> Callable[[PackageEdit], PackageEdit]:
        """The function edits the package that code generation makes."""

        def add(edit: PackageEdit) -> PackageEdit:
            self._add(edit.__name__, wrong, caught, fields, package_edit=edit, **more)
            return edit

        return add

    def patch(self, target: str, wrong: str, caught: Caught, *fields: str, **more: Any) -> Callable[[Any], Any]:
        def add(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
            self._add(make.__name__, wrong, caught, fields, patches={target: make}, **more)
            return make

        return add

    def _add(self, name: str, wrong: str, caught: Caught, fields: tuple[str, ...], **more: Any) -> None:
        self.mutants.append(Mutant(self.name, name.replace("_", " "), wrong, caught, fields=fields, **more))
