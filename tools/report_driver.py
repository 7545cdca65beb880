"""What `tile-report` does with its options."""

from __future__ import annotations

import sys

from .report_arguments import ReportOptions
from .session import standard_output


def run_report(options: ReportOptions) -> int:
    """The exit code. A TileError if a file cannot be read."""
    if options.command == "show":
        from .report_show import run_show

        text, code = run_show(options), 0
    else:
        from .report_diff import run_diff

        text, code = run_diff(options)
    with standard_output():
        sys.stdout.write(text)
    return code
