"""`tile-report show`: what one build comes to."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ..analysis.proxies import FIELDS, Proxies, shown
from ..support.diagnostics import TileError, printable
from .report_arguments import ReportOptions
from .report_proof import FIELDS_OF_ITEMS
from .report_records import MEASURED, Records, read_records
from .tables import text_table

_OVERVIEW = {
    "level": "level",
    "ir_ops": "IR ops",
    "ir_values": "values",
    "compute_instances": "lanes",
    "width": "at once",
    "makespan_cycles": "path",
    "mvm_count": "products",
    "vector_count": "vector",
    "instructions": "instructions",
    "sends": "messages",
    "local_copies": "copies",
}
"""Columns of the table of stages, and their headers."""


def run_show(options: ReportOptions) -> str:
    """What is printed. A TileError if it cannot be read."""
    (path,) = options.paths
    asked = "--idle" if options.idle else "--layers" if options.layers else ""
    if asked and not options.clock:
        raise TileError(asked, "needs the clock", "remove --no-clock")
    clock = options.clock and not options.layers
    records = read_records(path, options.machine, clock, needs_machine=bool(asked))
    if options.idle:
        from .report_idle import idle_json, idle_text

        if records.timing is None or records.machine is None:
            raise TileError(str(path), "is not a package, so that it cannot be timed", "give a package")
        unused = records.machine.core_count - len(records.timing.cores)
        return idle_json(records.timing, unused) if options.json else idle_text(records.timing, unused, options.all)
    if options.layers:
        from .report_layers import LayerReport

        if records.package is None or records.machine is None:
            raise TileError(str(path), "is not a package, so that it cannot be timed", "give a package")
        layers = LayerReport.of(records.package, records.machine, path)
        return layers.to_json() if options.json else layers.text(options.all)
    if options.json:
        return json.dumps({name: record.to_json() for name, record in records.proxies.items()}, indent=1) + "\n"
    return "".join(_text(records, options.all))


def _text(records: Records, everything: bool) -> Iterator[str]:
    *_, (last, record) = records.proxies.items()
    for name, value in records.facts.items():
        yield f"{MEASURED[name]}: {value:g}\n"
    yield from (f"{printable(fault)}\n" for fault in records.faults)
    if records.digest is not None:
        yield f"package sha256 {records.digest}\n"
    for name in ("machine", "interface"):
        if (value := getattr(record, name)) is not None:
            yield f"{FIELDS[name].title}: {value}\n"
    if records.timing is not None:
        from .report_idle import idle_summary

        yield idle_summary(records.timing)
    yield "\n"
    if len(records.proxies) > 1:
        yield _stages(records)
    if everything:
        yield from (f"\n== {name}\n{one.text()}" for name, one in records.proxies.items())
        return
    yield f"\n== {last}\n{_grouped(record)}"


def _stages(records: Records) -> str:
    rows = [
        [stage, *("" if getattr(one, name) is None else shown(getattr(one, name)) for name in _OVERVIEW)]
        for stage, one in records.proxies.items()
    ]
    return text_table(rows, ["stage", *_OVERVIEW.values()], (0, 1))


def _grouped(record: Proxies) -> str:
    """The items of one record that are known, by group."""
    rows: list[list[str]] = []
    for group, names in FIELDS_OF_ITEMS:
        known = [name for name in names if getattr(record, name) is not None]
        if known:
            rows.append([group, ""])
        for name in known:
            bound = "at least " if name in record.lower_bounds else ""
            rows.append([f"- {FIELDS[name].title}", f"{bound}{shown(getattr(record, name))}"])
    if record.instruction_kinds is not None:
        rows.append([FIELDS["instruction_kinds"].title, ""])
        kinds = sorted(record.instruction_kinds, key=lambda item: (-item[1], item[0]))
        rows += [[f"- {name}", str(number)] for name, number in kinds]
    return text_table(rows, ["item", "value"])
