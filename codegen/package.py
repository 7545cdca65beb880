"""A compiled program as files: written reproducibly, read back with everything checked.

===================  ==============================================================================
``manifest.json``    format, origins, options, tensors, statistics, size and hash of the other files
``program.json.gz``  the instruction streams as the pimsim-nn simulator reads them
``program.bin``      the same as numpy columns, for the simulators of this project
``weights.npz``      weights, constants in global memory, index tables of tensors
``report/``          whatever the compiler has to say about the program
===================  ==============================================================================

A package is a directory, or one zip if its name ends in ``.tilepkg``. Its digest is the hash of its manifest, and so of
everything in it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import cast

from ..support.background import Background
from ..support.diagnostics import TileError, system_reason
from ..support.files import require_folder
from .archive import ZIP_SUFFIX, ArchiveReader, ArchiveWriter, FileFacts, corrupt, read_archive, write_archive
from .byte_sink import ByteSink, FileSink
from .columns import Program
from .files_ahead import FilesAhead
from .json_stream import write_program_json
from .manifest import FORMAT, Manifest, Origin, manifest_text, parse_manifest
from .memory_file import MemoryReader, write_memory
from .memory_image import GlobalMemory, TensorLayout, WeightTable
from .package_check import package_faults
from .program_file import read_program, write_program

MANIFEST = "manifest.json"
PROGRAM_JSON = "program.json.gz"
PROGRAM = "program.bin"
WEIGHTS = "weights.npz"
REPORTS = "report/"


@dataclass(frozen=True, eq=False)
class Package:
    """Everything that runs, and where it comes from."""

    program: Program
    weights: WeightTable
    memory: GlobalMemory
    inputs: tuple[TensorLayout, ...]
    outputs: tuple[TensorLayout, ...]
    machine: Origin = field(default_factory=Origin)
    model: Origin = field(default_factory=Origin)
    options: Mapping[str, object] = field(default_factory=dict[str, object])
    """The compiler's options that affect the output: JSON values."""
    reports: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    """Files of ``report/`` by name. They must not hold times of day or paths: the package is reproducible."""
    samples: int = 1
    """How many samples of the model it takes at once, along the leading axis of inputs and outputs."""


def write_package(package: Package, path: Path) -> str:
    """Writes the package, all of it or nothing, and returns its digest.

    A package that stands at ``path`` is replaced; anything else there, or in its directory, is an error.
    """
    with package_writer(path) as writer:
        return writer.finish(package)


class PackageWriter:
    """The files of one package. Threads may write weights and constants while its program is being made, and the
    program while it is being checked."""

    def __init__(self, archive: ArchiveWriter) -> None:
        self._archive = archive
        self._files = FilesAhead(archive)

    def begin_memory(self, weights: WeightTable, memory: GlobalMemory, layouts: Sequence[TensorLayout]) -> None:
        """Begins to write what the package holds besides its program. ``weights`` has an entry for every group."""
        self._files.begin(WEIGHTS, weights, _memory(weights, memory, layouts), is_small=False)

    def begin_program(self, program: Program) -> None:
        """Begins to write the program, in both of its forms."""
        for name, write in _PROGRAM_FILES.items():
            self._files.begin(name, program, partial(write, program), is_small=True)

    def finish(self, package: Package) -> str:
        """Writes all that is missing; the package's digest. Raises what has gone wrong on the thread."""
        faults = package_faults(package.program, package.weights, package.memory, package.inputs, package.outputs)
        assert not faults, f"the compiler made a bad package: {faults[0]}"
        for name, write in _PROGRAM_FILES.items():
            self._files.finish(name, package.program, partial(write, package.program))
        memory = _memory(_complete(package), package.memory, (*package.inputs, *package.outputs))
        self._files.finish(WEIGHTS, package.weights, memory)
        for name, content in sorted(package.reports.items()):
            with self._archive.create(REPORTS + name) as file:
                file.write(content)
        text = manifest_text(_manifest(package, self._archive.files), package.program)
        with self._archive.create(MANIFEST) as file:
            file.write(text)
        return hashlib.sha256(text).hexdigest()

    def give_up(self) -> None:
        """Writes nothing any more: at the end, no thread does."""
        self._files.give_up()


_PROGRAM_FILES: dict[str, Callable[[Program, ByteSink], None]] = {
    PROGRAM_JSON: write_program_json,
    PROGRAM: write_program,
}


def _memory(weights: WeightTable, memory: GlobalMemory, layouts: Sequence[TensorLayout]) -> Callable[[FileSink], None]:
    """What writes them."""
    return lambda file: write_memory(file, weights, memory.constants, [layout.index for layout in layouts])


@contextmanager
def package_writer(path: Path) -> Generator[PackageWriter]:
    """A writer for a package at ``path``, which takes its place at the end of the context, or on any exception leaves
    nothing behind. A TileError if something stands there, or in its directory, that is not a package."""
    require_replaceable(path)
    with write_archive(path) as archive:
        writer = PackageWriter(archive)
        try:
            yield writer
        finally:
            writer.give_up()


def read_package(path: Path, with_reports: bool = False) -> Package:
    """Reads a package and checks that all its files are those of its manifest.

    The program is that of ``program.bin``; ``program.json.gz`` is not parsed. Reports are read only when asked for.
    """
    with read_archive(path) as archive:
        manifest = _read_manifest(archive)
        unread = [name for name in manifest.files if name not in (PROGRAM, WEIGHTS)]
        checking = Background(lambda: _check(archive, unread, manifest))
        program = _read_program(archive, manifest)
        memory = MemoryReader(_read_verified(archive, WEIGHTS, manifest), f"{path}/{WEIGHTS}")
        reports = {
            name.removeprefix(REPORTS): _read_verified(archive, name, manifest)
            for name in sorted(manifest.files)
            if with_reports and name.startswith(REPORTS)
        }
        checking.result()
        weights = memory.weights([len(core) for core in program.groups])
        constants = memory.constants()
        layouts = [
            replace(layout, index=memory.index(number, layout.shape)) if number in manifest.indexed else layout
            for number, layout in enumerate((*manifest.inputs, *manifest.outputs))
        ]
    package = Package(
        program,
        weights,
        GlobalMemory(manifest.global_memory_bytes, constants),
        tuple(layouts[: len(manifest.inputs)]),
        tuple(layouts[len(manifest.inputs) :]),
        manifest.machine,
        manifest.model,
        manifest.options,
        reports,
        manifest.samples,
    )
    faults = package_faults(program, weights, package.memory, package.inputs, package.outputs)
    if faults:
        raise corrupt(str(path), faults[0])
    return package


def read_package_program(path: Path) -> tuple[Program, Manifest]:
    """The program of a package, which is the same in both of its forms, and the manifest; nothing of the weights."""
    with read_archive(path) as archive:
        manifest = _read_manifest(archive)
        checking = Background(lambda: _check(archive, [PROGRAM_JSON], manifest))
        program = _read_program(archive, manifest)
        checking.result()
    return program, manifest


def read_report(path: Path, name: str) -> bytes | None:
    """A file of a package's `report/`, checked against the manifest; None if the package has none of that name."""
    with read_archive(path) as archive:
        manifest = _read_manifest(archive)
        return _read_verified(archive, REPORTS + name, manifest) if REPORTS + name in manifest.files else None


def package_digest(path: Path) -> str:
    """The digest of the package at ``path``, from its manifest alone."""
    with read_archive(path) as archive:
        return hashlib.sha256(archive.read(MANIFEST)).hexdigest()


def _manifest(package: Package, files: Mapping[str, FileFacts]) -> Manifest:
    return Manifest(
        package.machine,
        package.model,
        package.options,
        package.memory.size_bytes,
        package.inputs,
        package.outputs,
        dict(files),
        package.program.target,
        package.samples,
    )


def _complete(package: Package) -> WeightTable:
    """The weight table with an entry for every group."""
    of_group = tuple(
        tuple(known[group] if group < len(known) else -1 for group in range(len(counts)))
        for counts, known in zip(package.program.groups, package.weights.of_group, strict=True)
    )
    return WeightTable(package.weights.matrices, of_group)


def require_replaceable(path: Path) -> None:
    """A TileError if no package can be written to ``path``, or if something there would be lost that no package holds.

    To be asked before a program is compiled, too: that is the time to say so.
    """
    try:
        stands = path.exists()
    except OSError as error:
        raise TileError(str(path), f"cannot be written: {system_reason(error)}", "name another place") from None
    require_folder(path.parent if path.suffix == ZIP_SUFFIX or stands else path)
    if not stands:
        return
    if Path.cwd().is_relative_to(path.resolve()):
        what = "is the current directory, or one that holds it, so that it is not replaced"
        raise TileError(str(path), what, "name a directory inside of it")
    if path.suffix == ZIP_SUFFIX:
        fits = not path.is_dir()
    else:
        fits = path.is_dir() and (not any(path.iterdir()) or _is_package(path / MANIFEST))
    if not fits:
        raise TileError(str(path), "exists and is not a package, so that it is not replaced", "give another name")
    if path.is_dir() and (name := _foreign_file(path)) is not None:
        what = f"holds '{name}', which is no part of the package there, so that it is not replaced"
        raise TileError(str(path), what, "move it away, or give another name")


def _is_package(manifest: Path) -> bool:
    """Whether this is a manifest of ours, of whatever version."""
    return _json_object(manifest).get("format") == FORMAT


def _foreign_file(folder: Path) -> str | None:
    """The first file, by name, in the folder of a package that is not the package's."""
    listed = _json_object(folder / MANIFEST).get("files")
    own = {MANIFEST, PROGRAM_JSON, PROGRAM, WEIGHTS}
    if isinstance(listed, dict):
        own.update(cast("dict[str, object]", listed))
    folders = {name.rpartition("/")[0] for name in own}
    for file in sorted(folder.rglob("*")):
        name = file.relative_to(folder).as_posix()
        if name not in own and not (name in folders and file.is_dir()):
            return name
    return None


def _json_object(path: Path) -> dict[str, object]:
    """The object that a file holds; an empty one if it holds none."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("dict[str, object]", content) if isinstance(content, dict) else {}


def _read_manifest(archive: ArchiveReader) -> Manifest:
    if MANIFEST not in archive:
        remedy = "name a package that tile-compile wrote"
        raise archive.error("", f"is not a package: it has no {MANIFEST}", remedy)
    return parse_manifest(archive.read(MANIFEST), f"{archive.path}/{MANIFEST}")


def _read_program(archive: ArchiveReader, manifest: Manifest) -> Program:
    program = read_program(_read_verified(archive, PROGRAM, manifest), f"{archive.path}/{PROGRAM}")
    if manifest.target != program.target:
        raise archive.error(MANIFEST, f"does not have the target that {PROGRAM} has")
    return program


def _check(archive: ArchiveReader, names: Iterable[str], manifest: Manifest) -> None:
    """A TileError if one of the files is not that of the manifest."""
    for name in names:
        _require_same(archive, name, manifest, archive.facts(name))


def _read_verified(archive: ArchiveReader, name: str, manifest: Manifest) -> bytes:
    """A file's content, checked against the manifest."""
    data = archive.read(name)
    _require_same(archive, name, manifest, FileFacts(len(data), hashlib.sha256(data).hexdigest()))
    return data


def _require_same(archive: ArchiveReader, name: str, manifest: Manifest, found: FileFacts) -> None:
    """A TileError unless a file is the one of the manifest."""
    facts = manifest.files.get(name)
    if facts is None:
        raise archive.error(MANIFEST, f"does not list {name}")
    if found.size_bytes != facts.size_bytes:
        raise archive.error(name, f"has {found.size_bytes} bytes, the manifest says {facts.size_bytes}")
    if found.sha256 != facts.sha256:
        raise archive.error(name, "does not have the content that the manifest says")
