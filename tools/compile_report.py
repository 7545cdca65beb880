"""The summary that `tile-compile` prints."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

import numpy as np

from ..codegen.isa import SCALAR_OPS, Op
from ..codegen.package import Package
from .compile_arguments import CompileOptions


@dataclass(frozen=True)
class CompileReport:
    """What was made, in numbers."""

    sha256: str
    machine: str
    cores: int
    cores_used: int
    arrays: int
    arrays_used: int
    instructions: int
    scalar_instructions: int
    matrix_products: int
    messages: int
    message_bytes: int
    seconds: float

    @staticmethod
    def of(package: Package, sha256: str, seconds: float) -> CompileReport:
        program = package.program
        op = program.columns.op
        sends = op == Op.SEND
        return CompileReport(
            sha256=sha256,
            machine=package.machine.name,
            cores=program.core_count,
            cores_used=int((np.diff(program.core_start) > 0).sum()),
            arrays=program.core_count * program.target.arrays_per_core,
            arrays_used=sum(map(sum, program.groups)),
            instructions=len(op),
            scalar_instructions=int(np.isin(op, [int(one) for one in SCALAR_OPS]).sum()),
            matrix_products=int((op == Op.MVMUL).sum()),
            messages=int(sends.sum()),
            message_bytes=int(program.columns.a[sends].sum(dtype=np.int64)),
            seconds=seconds,
        )


def print_report(report: CompileReport, options: CompileOptions) -> None:
    """Prints the summary to stdout, unless it is not wanted."""
    if options.quiet:
        return
    if options.json:
        print(json.dumps({"package": str(options.output), **asdict(report)}))
        return
    print(f"{options.output}: sha256 {report.sha256}")
    print(
        f"  {report.machine}: {report.cores_used} of {report.cores} cores, "
        f"{report.arrays_used} of {report.arrays} arrays"
    )
    print(
        f"  {report.instructions} instructions ({report.scalar_instructions} scalar), {report.matrix_products} matrix "
        f"products, {report.messages} messages of {report.message_bytes} bytes in all"
    )
    print(f"  compiled in {report.seconds:.1f} s")
