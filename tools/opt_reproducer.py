"""Crash reproducers: when a pass fails, a file that is a test of that pass on the module that it failed on."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from ..passes.instrumentation import PassInstrumentation, PassRun
from ..passes.ir_text import PrintOptions, ir_text
from ..support.files import atomic_file


@dataclass
class CrashReproducer(PassInstrumentation):
    """Keeps a copy of the module from before the pass that runs, and writes it if the pass, or a check of it, fails."""

    path: Path
    plugins: tuple[str, ...] = ()
    """Files of `--load-pass-plugin`, which the pipeline may need."""
    _before: ModuleOp | None = field(default=None, init=False)

    def before_pass(self, run: PassRun) -> None:
        self._before = run.module.clone()

    def after_pass(self, run: PassRun) -> None:
        self._before = None

    def after_failed_pass(self, run: PassRun, error: Exception) -> None:
        if self._before is None:
            return
        from ..passes.pipeline import pipeline_text

        resources = _save_resources(self._before, self.path.with_suffix(".npz"))
        plugins = [f"--load-pass-plugin={Path(plugin).resolve()}" for plugin in self.plugins]
        pipeline = f"--pass-pipeline={pipeline_text((run.one,))}"
        words = [shlex.quote(word).replace("%", "%%") for word in (*plugins, pipeline)]
        command = ["tile-opt", "%s", *words, *resources]
        lines = [
            f"// RUN: {' '.join(command)}",
            f"// {str(error).splitlines()[0]}",
            ir_text(self._before, PrintOptions(generic=True, debuginfo=True)),
        ]
        with atomic_file(self.path) as temporary:
            temporary.write_text("\n".join(lines), encoding="utf-8")
        sys.stderr.write(f"note: {self.path}: reproduces the failure of pass '{run.name}'\n")


def _save_resources(module: ModuleOp, path: Path) -> list[str]:
    """Writes the arrays that the text of ``module`` does not hold; gives the option that loads them again,
    from the folder of the reproducer."""
    tile = sys.modules.get("tilec.dialects.tile")
    if tile is None or not tile.collect_resources(module):
        return []
    tile.save_resources(module, path)
    return [f"--resources=%S/{shlex.quote(path.name).replace('%', '%%')}"]
