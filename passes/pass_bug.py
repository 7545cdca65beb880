"""The exception that says that a pass, and not its input, is wrong."""

from __future__ import annotations

from xdsl.passes import ModulePass

_OURS = __name__.partition(".")[0]


class PassBug(Exception):
    """A pass raised what no pass should raise."""

    def __init__(self, pass_name: str, error: BaseException, is_ours: bool = True) -> None:
        """``is_ours``: whether the pass is one of the compiler's."""
        self.pass_name = pass_name
        self.is_ours = is_ours
        super().__init__(f"pass '{pass_name}' failed: {type(error).__name__}: {error}")

    @staticmethod
    def of(one: ModulePass, pass_name: str, error: BaseException) -> PassBug:
        """The bug of a pass that may have another name by now."""
        return PassBug(pass_name, error, type(one).__module__.partition(".")[0] == _OURS)
