"""The exception that says that the compiler, and not its input, is wrong."""

from __future__ import annotations


class PassBug(Exception):
    """A pass raised what no pass should raise."""

    def __init__(self, pass_name: str, error: Exception, is_ours: bool = True) -> None:
        """``is_ours``: whether the pass is one of the compiler's."""
        self.pass_name = pass_name
        self.is_ours = is_ours
        super().__init__(f"pass '{pass_name}' failed: {type(error).__name__}: {error}")
