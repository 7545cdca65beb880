"""Finding and reading a machine's files, and saying everything that is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import cast

from ..support.diagnostics import TileError, system_reason
from .architecture import IGNORED_KEYS, Architecture, ChipConfig, MatrixConfig
from .json_record import RecordReader, parse_json, read_bytes
from .network import Network

PRESETS = Path(__file__).parent / "machines"
_REQUIRED = (
    "chip_config.core_cnt",
    "chip_config.core_config.local_memory_config.memory_size",
    "chip_config.core_config.matrix_config.cell_precision",
    "chip_config.core_config.matrix_config.xbar_array_count",
    "chip_config.core_config.matrix_config.xbar_size",
)
_LOCAL_MEMORY_LIMIT = 2**31 - 1


def preset_names() -> list[str]:
    """The machines that come with the compiler."""
    return sorted(path.stem for path in PRESETS.glob("*.json"))


def find_machine(name_or_path: str) -> Path:
    """The file of a preset, or of a path; a preset's name wins over a file of that name."""
    preset = PRESETS / f"{name_or_path}.json"
    if name_or_path.isidentifier() and preset.is_file():
        return preset
    path = Path(name_or_path)
    try:
        if path.is_file():
            return path
        what = "is a directory" if path.is_dir() else "is neither a machine file nor a preset"
    except OSError as error:
        what = f"cannot be read: {system_reason(error)}"
    raise TileError(f"machine {name_or_path}", what, f"presets are {', '.join(preset_names())}")


def load_machine(path: Path, strict: bool) -> tuple[Architecture, Network]:
    """Architecture and network from their files, of which equal bytes are read once: every pass loads its machine."""
    fields, architecture = _architecture_of(read_bytes(path), str(path), strict)
    return architecture, _read_network(str(path), fields, architecture.chip_config, path.parent, None, strict)


def read_machine(
    content: object, source: str, folder: Path, table: object, strict: bool
) -> tuple[Architecture, Network]:
    """Architecture and network from the content of an architecture file.

    ``folder`` is where its network file is looked for, unless ``table`` gives the content of that. Raises all mistakes
    of one file together.
    """
    fields, architecture = _read_architecture(content, source, strict)
    return architecture, _read_network(source, fields, architecture.chip_config, folder, table, strict)


@lru_cache(maxsize=8)
def _architecture_of(data: bytes, source: str, strict: bool) -> tuple[Mapping[str, object], Architecture]:
    return _read_architecture(parse_json(data, source), source, strict)


def _read_architecture(content: object, source: str, strict: bool) -> tuple[Mapping[str, object], Architecture]:
    """The fields as they stand in the file, and what they say."""
    reader = RecordReader(source, IGNORED_KEYS)
    fields = reader.mapping(content, "")
    architecture = reader.record(Architecture, fields, "")
    _check_consistency(reader, architecture.chip_config)
    if strict:
        _check_compilable(reader, fields, architecture.chip_config)
    reader.raise_errors()
    return fields, architecture


def _check_consistency(reader: RecordReader, chip: ChipConfig) -> None:
    """What crashes the simulator."""
    if chip.global_memory_switch_id != chip.core_config.global_memory_switch_id:
        reader.error(
            "chip_config.core_config.global_memory_switch_id",
            f"is {chip.core_config.global_memory_switch_id} but chip_config.global_memory_switch_id is "
            f"{chip.global_memory_switch_id}",
            "give both the same value",
        )
    if 0 <= chip.global_memory_switch_id < chip.core_cnt:
        reader.error(
            "chip_config.global_memory_switch_id",
            f"{chip.global_memory_switch_id} is also the number of a core",
            "use a negative number",
        )


def _check_compilable(reader: RecordReader, content: Mapping[str, object], chip: ChipConfig) -> None:
    """What the simulator does without, and a compiler cannot."""
    for path in _REQUIRED:
        if not _has(content, path):
            reader.error(path, "is missing", "add it: a compiler cannot assume a value")
    if chip.core_config.local_memory_config.memory_size > _LOCAL_MEMORY_LIMIT:
        reader.error(
            "chip_config.core_config.local_memory_config.memory_size",
            f"{chip.core_config.local_memory_config.memory_size} bytes are more than a 32-bit register can address",
            f"give at most {_LOCAL_MEMORY_LIMIT}",
        )
    if chip.core_config.matrix_config.xbar_array_count == 0:
        reader.error("chip_config.core_config.matrix_config.xbar_array_count", "is 0", "a core needs an array")
    rows, columns = mesh_layout(chip)
    if rows * columns < chip.core_cnt:
        reader.error(
            "chip_config.network_config.layout",
            f"a mesh of {rows} x {columns} has no place for {chip.core_cnt} cores",
            "enlarge it or lower chip_config.core_cnt",
        )
    _check_converters(reader, chip.core_config.matrix_config)


def _check_converters(reader: RecordReader, matrix: MatrixConfig) -> None:
    """The simulator rounds the number of conversions down, so that its times are wrong when a division is not exact."""
    for name, count, dimension, what in (
        ("dac_count", matrix.dac_count, matrix.xbar_size[0], "rows"),
        ("adc_count", matrix.adc_count, matrix.xbar_size[1], "columns"),
    ):
        if dimension % count:
            reader.error(
                f"chip_config.core_config.matrix_config.{name}",
                f"{count} does not divide the {dimension} {what} of an array, so that the simulator's times are wrong",
                "choose a divisor",
            )
    if matrix.cell_precision * matrix.xbar_size[1] < 8:
        reader.error(
            "chip_config.core_config.matrix_config.xbar_size",
            f"{matrix.xbar_size[1]} columns of {matrix.cell_precision}-bit cells do not hold one 8-bit weight",
            "give an array more columns",
        )


def _has(content: Mapping[str, object], path: str) -> bool:
    *parents, last = path.split(".")
    node = content
    for key in parents:
        child = node.get(key)
        if not isinstance(child, dict):
            return False
        node = cast("dict[str, object]", child)
    return last in node


def mesh_layout(chip: ChipConfig) -> tuple[int, int]:
    """Rows and columns of the mesh; the nearest to a square when the file gives none."""
    rows, columns = chip.network_config.layout
    if rows and columns:
        return rows, columns
    rows = max(1, int(chip.core_cnt**0.5))
    return rows, -(-chip.core_cnt // rows)


def _read_network(
    source: str,
    content: Mapping[str, object],
    chip: ChipConfig,
    folder: Path,
    table: object,
    strict: bool,
) -> Network:
    reader = RecordReader(source, IGNORED_KEYS)
    config = chip.network_config
    by_rule = _has(content, "chip_config.network_config.mesh")
    path = config.net_config_file_path
    if by_rule and path:
        reader.error("chip_config.network_config", "has both a `mesh` and a `net_config_file_path`", "remove one")
    elif not by_rule and not path and table is None:
        reader.error(
            "chip_config.network_config.net_config_file_path", "is missing", "name the network file, or add a `mesh`"
        )
    reader.raise_errors()
    if by_rule:
        return Network.from_mesh(config.mesh, mesh_layout(chip), chip.core_cnt)
    if table is None:
        full_path = folder / path
        return _network_of(read_bytes(full_path), str(full_path), chip.core_cnt, chip.global_memory_switch_id, strict)
    return _checked_network(reader, table, chip.core_cnt, chip.global_memory_switch_id, strict)


@lru_cache(maxsize=4)
def _network_of(data: bytes, source: str, core_count: int, memory_id: int, strict: bool) -> Network:
    """The network in a file's bytes. Every pass loads its machine anew, and a large table takes long to check."""
    return _checked_network(RecordReader(source), parse_json(data, source), core_count, memory_id, strict)


def _checked_network(reader: RecordReader, table: object, core_count: int, memory_id: int, strict: bool) -> Network:
    network = Network.from_table(reader, table, core_count, memory_id, strict)
    reader.raise_errors()
    return network
