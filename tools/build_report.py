"""The report of one build: what the compiler took, and the proxies of every stage.

It stands outside the package, which is the same bytes for the same model and options; time and memory are not.
"""

from __future__ import annotations

import json
import resource
from collections.abc import Mapping
from dataclasses import asdict

from ..analysis.proxies import Proxies
from ..codegen.package import Package
from .report_records import BUILD_FORMAT


def build_report(
    package: Package,
    digest: str,
    stages: Mapping[str, Proxies],
    wall_seconds: float,
    seconds: Mapping[str, float],
) -> str:
    """The text that `tile-report` reads: ``seconds`` are those of phases and passes, by name.

    Wall time is the driver's, without the start of Python; CPU time and peak memory are the whole process's.
    """
    used = resource.getrusage(resource.RUSAGE_SELF)
    content = {
        "format": BUILD_FORMAT,
        "package": digest,
        "model": asdict(package.model),
        "machine": asdict(package.machine),
        "options": dict(package.options),
        "wall_seconds": round(wall_seconds, 6),
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 6),
        "peak_rss_bytes": used.ru_maxrss * 1024,
        "seconds": {name: round(time, 6) for name, time in seconds.items()},
        "stages": {name: record.to_json() for name, record in stages.items()},
    }
    return json.dumps(content, indent=1) + "\n"
