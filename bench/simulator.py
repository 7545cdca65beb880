"""The pimsim-nn simulator, where it is at hand: it is no part of the project, and the clock gives the same latency."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from .process import CommandError, run

LATENCY_RUN = 1
_WRITE_MACHINE = (
    "import sys; from pathlib import Path; from tilec.analysis.machine import Machine; "
    "Machine.load(sys.argv[1]).write(Path(sys.argv[2]))"
)


def simulated_latency_ms(simulator: Path, package: Path, machine: Path, longest_ms: float, scratch: Path) -> float:
    """The latency of one sample of the package. ``simulator`` is the program `ChipTest`.

    It simulates ``longest_ms``, whatever happens before. Raises a CommandError, also if that is too short.
    """
    settings = scratch / "machine.json"
    run([sys.executable, "-c", _WRITE_MACHINE, str(machine), str(settings)])
    content = json.loads(settings.read_bytes())
    network = content["chip_config"]["network_config"]
    network["net_config_file_path"] = str((scratch / network["net_config_file_path"]).resolve())
    content["sim_config"] = {"sim_mode": LATENCY_RUN, "sim_time": longest_ms, "report_verbose_level": 1}
    settings.write_text(json.dumps(content), encoding="utf-8")
    printed, _ = run([str(simulator), str(package / "program.json.gz"), str(settings)])
    found = re.search(r"latency:\s+(\S+) ms", printed)
    if found is None:
        raise CommandError(f"{simulator} printed no latency")
    return float(found[1])
