"""`tile-report`: the runtime proxies of compiled programs, one by one or two against each other."""

from __future__ import annotations

from .early_interrupt import EARLY_INTERRUPT

with EARLY_INTERRUPT:
    import sys
    from collections.abc import Sequence

    from .session import run_tool


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code of `tile-report` for the arguments, by default those of the command line."""
    return run_tool("tile-report", _run, arguments)


def _run(arguments: Sequence[str]) -> int:
    from .report_arguments import parse_arguments

    options = parse_arguments(arguments)

    from .report_driver import run_report

    return run_report(options)


if __name__ == "__main__":
    sys.exit(main())
