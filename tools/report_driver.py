"""What `tile-report` does with its options."""

from __future__ import annotations

import sys

from .report_arguments import ReportOptions


def run_report(options: ReportOptions) -> int:
    """The exit code. A TileError if a file cannot be read."""
    if options.command == "show":
        from .report_show import run_show

        sys.stdout.write(run_show(options))
        return 0
    from .report_diff import run_diff

    text, code = run_diff(options)
    sys.stdout.write(text)
    return code
