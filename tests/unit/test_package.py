"""Packages: what goes in comes out, the same bytes every time, all of it or nothing."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from threading import Event, Timer
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from package_example import example
from programs import TARGET, package, program, programs, same_programs
from tilec.codegen.columns import Program
from tilec.codegen.memory_file import write_memory
from tilec.codegen.memory_image import Constant, TensorLayout, WeightTable
from tilec.codegen.package import (
    _PROGRAM_FILES,  # pyright: ignore[reportPrivateUsage]
    MANIFEST,
    PROGRAM,
    PROGRAM_JSON,
    WEIGHTS,
    Package,
    PackageWriter,
    package_digest,
    package_writer,
    read_package,
    write_package,
)
from tilec.dialects import array_layout
from tilec.support.diagnostics import TileError


def assert_same(first: Package, second: Package) -> None:
    assert same_programs(first.program, second.program)
    assert first.weights.of_group == second.weights.of_group
    for one, other in zip(first.weights.matrices, second.weights.matrices, strict=True):
        np.testing.assert_array_equal(one, other)
    assert first.memory.size_bytes == second.memory.size_bytes
    for one, other in zip(first.memory.constants, second.memory.constants, strict=True):
        assert one.address_bytes == other.address_bytes
        np.testing.assert_array_equal(one.values, other.values)
    for one, other in zip((*first.inputs, *first.outputs), (*second.inputs, *second.outputs), strict=True):
        assert (one.name, one.shape, one.address_bytes, one.dtype) == (
            other.name,
            other.shape,
            other.address_bytes,
            other.dtype,
        )
        np.testing.assert_array_equal(one.element_index(), other.element_index())
    assert (first.machine, first.model, first.options) == (second.machine, second.model, second.options)


@pytest.mark.parametrize("name", ["out", "out.tilepkg", "deep/er/out.tilepkg"])
def test_a_package_survives_a_round_trip(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    digest = write_package(example(), path)
    again = read_package(path, with_reports=True)
    assert_same(example(), again)
    assert again.reports == example().reports
    assert read_package(path).reports == {}
    assert package_digest(path) == digest


@settings(max_examples=25)
@given(programs())
def test_any_program_survives(made: Program) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p"
        write_package(package(made), path)
        assert same_programs(read_package(path).program, made)


def test_the_bytes_are_always_the_same(tmp_path: Path) -> None:
    digests = {write_package(example(), tmp_path / name) for name in ("a", "b", "a.tilepkg", "b.tilepkg")}
    assert len(digests) == 1
    assert (tmp_path / "a.tilepkg").read_bytes() == (tmp_path / "b.tilepkg").read_bytes()
    for name in (MANIFEST, PROGRAM, PROGRAM_JSON, WEIGHTS, "report/hints.txt"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    other = dataclasses.replace(example(), options={"replicas": 5})
    assert write_package(other, tmp_path / "c") not in digests


def test_how_weights_lie_in_memory_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Matrices are laid out when they are written, large ones in strips."""
    monkeypatch.setattr(array_layout, "_LARGE", 30)
    turned = [np.asfortranarray(matrix) for matrix in example().weights.matrices]
    assert not turned[0].flags.c_contiguous
    other = dataclasses.replace(example(), weights=WeightTable(tuple(turned), example().weights.of_group))
    assert write_package(other, tmp_path / "a") == write_package(example(), tmp_path / "b")


def test_the_order_of_options_and_reports_does_not_matter(tmp_path: Path) -> None:
    turned = dataclasses.replace(
        example(),
        options=dict(reversed(example().options.items())),
        reports=dict(reversed(example().reports.items())),
    )
    assert write_package(turned, tmp_path / "a") == write_package(example(), tmp_path / "b")


def test_the_digest_covers_every_file(tmp_path: Path) -> None:
    digest = write_package(example(), tmp_path / "p")
    content = json.loads((tmp_path / "p" / MANIFEST).read_text())
    files = {str(path.relative_to(tmp_path / "p")) for path in (tmp_path / "p").rglob("*") if path.is_file()}
    assert set(content["files"]) == files - {MANIFEST}
    for name, facts in content["files"].items():
        data = (tmp_path / "p" / name).read_bytes()
        assert facts == {"size_bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    assert hashlib.sha256((tmp_path / "p" / MANIFEST).read_bytes()).hexdigest() == digest


def test_statistics(tmp_path: Path) -> None:
    write_package(example(), tmp_path / "p")
    content = json.loads((tmp_path / "p" / MANIFEST).read_text())
    assert content["statistics"]["opcodes"] == {"setbw": 2, "sldi": 6, "mvmul": 1, "ld": 1, "st": 1, "lldi": 2}
    assert content["statistics"]["per_core"]["instructions"] == [11, 2]
    assert content["statistics"]["per_core"]["arrays"] == [3, 1]


def test_weights_are_readable_by_numpy(tmp_path: Path) -> None:
    write_package(example(), tmp_path / "p")
    with np.load(tmp_path / "p" / WEIGHTS) as arrays:
        assert arrays["weight_shapes"].tolist() == [[8, 4], [3, 8]]
        assert arrays["weight_of_group"].tolist() == [0, 1, 0]
        assert len(arrays["weights"]) == 56


def test_a_package_is_replaced_but_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "p"
    write_package(example(), path)
    digest = write_package(package(program("")), path)
    assert package_digest(path) == digest
    assert not (path / "report").exists()
    empty = tmp_path / "empty"
    empty.mkdir()
    write_package(example(), empty)
    home = tmp_path / "home"
    home.mkdir()
    (home / "letter.txt").write_text("keep me")
    for name in ("home", "home/letter.txt"):
        with pytest.raises(TileError, match="exists and is not a package"):
            write_package(example(), tmp_path / name)
    assert (home / "letter.txt").read_text() == "keep me"


@pytest.mark.parametrize("name", ["letter.txt", "report/letter.txt", "letters/letter.txt"])
def test_a_package_with_foreign_files_is_not_replaced(tmp_path: Path, name: str) -> None:
    path = tmp_path / "p"
    digest = write_package(example(), path)
    letter = path / name
    letter.parent.mkdir(exist_ok=True)
    letter.write_text("keep me")
    with pytest.raises(TileError, match=r"holds 'letters?\S*', which is no part|holds 'report/letter.txt', which is"):
        write_package(package(program("")), path)
    assert letter.read_text() == "keep me"
    assert package_digest(path) == digest


def test_the_manifest_of_something_else_is_no_package(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / MANIFEST).write_text('{"name": "an extension"}')
    with pytest.raises(TileError, match="exists and is not a package"):
        write_package(example(), tmp_path / "p")


@pytest.mark.parametrize("name", ["p", "p.tilepkg"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_failure_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, error: type[BaseException]
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("tilec.codegen.package.write_memory", fail)
    with pytest.raises(error):
        write_package(example(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def begun(writer: PackageWriter, made: Package) -> None:
    writer.begin_memory(made.weights, made.memory, (*made.inputs, *made.outputs))
    writer.begin_program(made.program)


def contents(path: Path) -> dict[str, bytes]:
    if path.is_dir():
        return {file.name: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    return {path.name: path.read_bytes()}


@pytest.mark.parametrize("name", ["p", "p.tilepkg"])
def test_files_may_be_written_before_and_after_their_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for folder in ("plain", "late"):
        (tmp_path / folder).mkdir()
    digest = write_package(example(), tmp_path / "plain" / name)
    expected = contents(tmp_path / "plain" / name)
    made = example()
    with package_writer(tmp_path / name) as writer:
        begun(writer, made)
        for file in writer._files._begun.values():  # pyright: ignore[reportPrivateUsage]
            file.writing.wait()
        assert not (tmp_path / name).exists()
        assert writer.finish(made) == digest
    assert contents(tmp_path / name) == expected

    may_begin = Event()

    def late(write: Callable[..., None]) -> Callable[..., None]:
        def later(*arguments: Any) -> None:
            assert may_begin.wait(60)
            write(*arguments)

        return later

    monkeypatch.setattr("tilec.codegen.package.write_memory", late(write_memory))
    for file, write in tuple(_PROGRAM_FILES.items()):
        monkeypatch.setitem(_PROGRAM_FILES, file, late(write))
    Timer(0.3, may_begin.set).start()
    with package_writer(tmp_path / "late" / name) as writer:
        begun(writer, made)
        assert writer.finish(made) == digest
    assert contents(tmp_path / "late" / name) == expected


def test_a_zip_takes_programs_beforehand_but_no_weights(tmp_path: Path) -> None:
    """Weights may be most of what is in memory, so that they are not held a second time."""
    with package_writer(tmp_path / "p.tilepkg") as writer:
        begun(writer, example())
        assert set(writer._files._begun) == {PROGRAM_JSON, PROGRAM}  # pyright: ignore[reportPrivateUsage]


def test_what_has_begun_for_one_package_is_not_taken_for_another(tmp_path: Path) -> None:
    with package_writer(tmp_path / "p") as writer:
        begun(writer, example())
        with pytest.raises(AssertionError, match=r"another package's program.json.gz has begun"):
            writer.finish(example())


def test_nothing_writes_any_more_when_a_package_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A matrix that is not begun when code generation is interrupted is not written."""
    writing, may_go_on = Event(), Event()
    copied: list[NDArray[Any]] = []

    def slowly(piece: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
        if piece.ndim == 2 and piece.dtype == np.float32:
            copied.append(piece)
            writing.set()
            assert may_go_on.wait(60)
        return array_layout.contiguous(piece, dtype)

    monkeypatch.setattr("tilec.codegen.arrays_file.contiguous", slowly)
    made = example()

    def interrupted() -> None:
        with package_writer(tmp_path / "p") as writer:
            begun(writer, made)
            assert writing.wait(60)
            Timer(0.3, may_go_on.set).start()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert (len(made.weights.matrices), len(copied)) == (2, 1)
    assert list(tmp_path.iterdir()) == []


def test_an_error_on_a_thread_is_one_error_of_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tilec.codegen.package.write_memory", fail)
    with pytest.raises(TileError, match="p: cannot be written: no space left on device; name another place"):
        written_ahead(tmp_path / "p", example())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["p", "p.tilepkg"])
def test_what_goes_wrong_ahead_is_raised_where_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError("no room")

    monkeypatch.setitem(_PROGRAM_FILES, PROGRAM, fail)
    with pytest.raises(MemoryError, match="no room"):
        written_ahead(tmp_path / name, example())
    assert list(tmp_path.iterdir()) == []


def written_ahead(path: Path, made: Package) -> None:
    with package_writer(path) as writer:
        begun(writer, made)
        writer.finish(made)


def test_an_error_of_what_makes_the_package_stays_what_it_is(tmp_path: Path) -> None:
    def fail() -> None:
        with package_writer(tmp_path / "p"):
            raise FileNotFoundError(2, "a machine is missing")

    with pytest.raises(FileNotFoundError, match="a machine is missing"):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_a_user_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TileError, match="cannot be made"):
        write_package(example(), tmp_path / "file" / "p.tilepkg")


def test_parts_that_do_not_fit_are_a_compiler_error(tmp_path: Path) -> None:
    made = program("", groups=[[1]])
    too_wide = np.zeros((8, 5), np.float32)
    with pytest.raises(AssertionError, match="a matrix of 8 x 5 is larger than its 1 arrays"):
        write_package(package(made, matrices={(0, 0): too_wide}), tmp_path / "p")
    beyond = [Constant(250, np.zeros(7, np.float32))]
    with pytest.raises(AssertionError, match="constant 0 takes bytes 250 to 257 of a global memory of 256"):
        write_package(package(made, constants=beyond), tmp_path / "p")
    with pytest.raises(AssertionError, match="input x takes bytes 0 to 300"):
        write_package(package(made, size_in=300), tmp_path / "p")


@given(st.lists(st.integers(1, 4), max_size=4))
def test_row_major_layouts_count_up(shape: list[int]) -> None:
    layout = TensorLayout.row_major("t", tuple(shape), 0)
    assert layout.element_index().reshape(-1).tolist() == list(range(int(np.prod(shape))))


def test_target_facts() -> None:
    assert dataclasses.replace(TARGET, element_bytes=2).local_elements == 128


def test_groups_on_the_same_memory_share_a_matrix() -> None:
    values = np.zeros((8, 4), np.float32)
    table = WeightTable.from_groups([[values[:4], values[4:]], [values[:4], None, values[:4].copy()]])
    assert table.of_group == ((0, 1), (0, -1, 2))
    assert table.matrix(1, 1) is None
    assert table.matrix(1, 5) is None
