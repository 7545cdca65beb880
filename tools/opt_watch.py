"""The instrumentation that the options of `tile-opt` ask for."""

from __future__ import annotations

import sys
from dataclasses import replace

from ..passes.instrumentation import PassInstrumentation
from ..passes.ir_printing import IRPrinter, PrintWhen, dump_to
from ..passes.ir_text import PrintOptions
from ..passes.ir_tree import IRTree
from ..passes.manager import Verifier
from ..passes.progress import Progress
from ..passes.statistics import PassStatistics
from ..passes.timing import PassTimer, TimedInstrumentation, Timer
from .opt_arguments import OptOptions
from .opt_reproducer import CrashReproducer


def instrumentations(
    options: OptOptions,
    print_options: PrintOptions,
    timer: Timer,
    statistics: PassStatistics,
    guard: PassInstrumentation | None = None,
    tree: IRTree | None = None,
) -> list[PassInstrumentation]:
    """Outermost first: what prints sees the module as checks leave it, and the timer sees the pass alone.

    ``tree``: of `--print-ir-tree-dir`.
    """
    found: list[PassInstrumentation] = []
    if options.crash_reproducer is not None:
        found.append(CrashReproducer(options.crash_reproducer, options.plugins))
    if options.pass_statistics:
        found.append(statistics)
    when = _print_when(options)
    if when.anything:
        if tree is None:
            found.append(IRPrinter(when, dump_to(sys.stderr.write), print_options))
        else:
            found.append(IRPrinter(when, tree, replace(print_options, debuginfo=True)))
    if guard is not None:
        found.append(TimedInstrumentation(guard, timer, "Guard"))
    if options.verify_each:
        found.append(TimedInstrumentation(Verifier(), timer, "Verifier"))
    if options.verbose:
        found.append(Progress(sys.stderr.write))
    if options.timing:
        found.append(PassTimer(timer))
    return found


def _print_when(options: OptOptions) -> PrintWhen:
    when = PrintWhen(
        before=frozenset(options.print_ir_before),
        after=frozenset(options.print_ir_after),
        before_all=options.print_ir_before_all,
        after_all=options.print_ir_after_all,
        after_change=options.print_ir_after_change,
        after_failure=options.print_ir_after_failure,
    )
    # A directory alone means that everything is wanted there.
    return PrintWhen(after_all=True) if options.print_ir_tree_dir is not None and not when.anything else when
