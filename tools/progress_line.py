"""One line on a terminal that says what is being done; nothing anywhere else."""

from __future__ import annotations

from types import TracebackType
from typing import Self, TextIO

from ..passes.instrumentation import PassInstrumentation, PassRun


class ProgressLine(PassInstrumentation):
    """Rewrites its line with the pass that runs. As a context manager, it clears the line at the end."""

    def __init__(self, stream: TextIO, shown: bool = True) -> None:
        self._stream = stream
        self._shown = shown and stream.isatty()

    def say(self, text: str) -> None:
        if self._shown:
            self._stream.write(f"\r\x1b[K{text}")
            self._stream.flush()

    def before_pass(self, run: PassRun) -> None:
        self.say(f"[{run.index + 1}/{len(run.pipeline)}] {run.name}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.say("")
