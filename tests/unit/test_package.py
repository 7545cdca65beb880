"""Packages: what goes in comes out, the same bytes every time, and nothing damaged gets past the reader."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import json
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from threading import Event, Timer
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from programs import TARGET, load, package, program, programs, same_programs, store
from tilec.codegen import manifest
from tilec.codegen.columns import Program
from tilec.codegen.memory_file import write_memory
from tilec.codegen.memory_image import Constant, GlobalMemory, TensorLayout, WeightTable
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

ORIGIN = manifest.Origin("model.onnx", "ab" * 32)


def example() -> Package:
    """A package with something of everything."""
    made = program(load(8) + "\nmvmul r0, r30, mbiw=8, group=1, relu=1\n" + store(8, 0), "", groups=[[1, 2], [1]])
    shared = np.arange(32, dtype=np.float32).reshape(8, 4)
    weights = WeightTable.from_groups([[shared, np.ones((3, 8), np.float32)], [shared]])
    index = np.array([[3, 1], [2, 0]], np.int64)
    return Package(
        made,
        weights,
        GlobalMemory(256, (Constant(64, np.array([1.5, -2], np.float32)), Constant(80, np.zeros(0, np.float32)))),
        (TensorLayout("x", (2, 2), 0, index=index), TensorLayout("m", (2, 3), 16, (1, 2), "int8")),
        (TensorLayout.row_major("y", (1, 8), 128),),
        machine=manifest.Origin("tiny", "cd" * 32),
        model=ORIGIN,
        options={"replicas": 4, "guard": True, "name": "ü"},
        reports={"hints.txt": b"none", "proxies.json": b"{}"},
    )


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
        with pytest.raises(TileError, match="exists and is no package"):
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
    with pytest.raises(TileError, match="exists and is no package"):
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


# Damage


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A good package to be damaged."""
    write_package(example(), tmp_path / "p")
    return tmp_path / "p"


def refused(path: Path) -> str:
    with pytest.raises(TileError) as caught:
        read_package(path)
    return str(caught.value)


@pytest.mark.parametrize("name", [MANIFEST, PROGRAM, WEIGHTS])
def test_a_missing_file(written: Path, name: str) -> None:
    (written / name).unlink()
    assert ("no package" if name == MANIFEST else "is missing") in refused(written)


@pytest.mark.parametrize("name", [PROGRAM, WEIGHTS])
def test_a_changed_byte(written: Path, name: str) -> None:
    data = bytearray((written / name).read_bytes())
    data[len(data) // 2] ^= 1
    (written / name).write_bytes(data)
    assert "does not have the content that the manifest says" in refused(written)


@pytest.mark.parametrize("name", [PROGRAM, WEIGHTS])
def test_a_truncated_file(written: Path, name: str) -> None:
    data = (written / name).read_bytes()
    (written / name).write_bytes(data[:-1])
    assert "bytes, the manifest says" in refused(written)


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("name", [PROGRAM_JSON, "report/hints.txt"])
def test_flips_in_what_is_not_parsed_are_seen(tmp_path: Path, name: str, zipped: bool) -> None:
    """Another simulator takes the streams in the form that this one does not read."""
    path = tmp_path / ("p.tilepkg" if zipped else "p")
    write_package(example(), path)
    if zipped:
        with zipfile.ZipFile(path) as archive:
            content = {info: archive.read(info) for info in archive.infolist()}
        with zipfile.ZipFile(path, "w") as archive:
            for info, data in content.items():
                archive.writestr(info, flipped(data) if info.filename == name else data)
    else:
        (path / name).write_bytes(flipped((path / name).read_bytes()))
    assert f"{name}: does not have the content that the manifest says" in refused(path)


def flipped(data: bytes) -> bytes:
    """The data with one bit changed in the middle."""
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def write_sealed(path: Path, content: dict[str, Any]) -> None:
    """Writes a manifest whose hash agrees, as an attacker would."""
    content.pop("sha256", None)
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    seal = hashlib.sha256(text.encode()).hexdigest()
    (path / MANIFEST).write_text(json.dumps(content | {"sha256": seal}))


def resealed(path: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    """Changes a file and makes the manifest agree, as an attacker would."""
    data = change((path / name).read_bytes())
    (path / name).write_bytes(data)
    content = json.loads((path / MANIFEST).read_text())
    content["files"][name] = {"size_bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    write_sealed(path, content)


@pytest.mark.parametrize("name", [PROGRAM, WEIGHTS])
def test_no_truncation_or_flip_gets_further_than_an_error(written: Path, name: str) -> None:
    whole = (written / name).read_bytes()
    step = max(1, len(whole) // 60)
    for at in range(0, len(whole), step):
        for damaged in (whole[:at], whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :]):
            resealed(written, name, lambda _, damaged=damaged: damaged)
            try:
                read_package(written)
            except TileError:
                continue


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is no program file"),
        (b"PK\x03\x04", "is no program file"),
        (b"TILEBIN3aaaa", "has format version b'3'"),
        (b"TILEBIN2", "ends in its header"),
        (b"TILEBIN2\xff\xff\xff\xff{}", "ends in its header"),
        (b"TILEBIN2\x02\x00\x00\x00{]", "is not valid JSON"),
        (b"TILEBIN2\x02\x00\x00\x00[]", "bad header"),
        (b"TILEBIN2\x02\x00\x00\x00{}", "bad header"),
    ],
)
def test_hostile_program_files(written: Path, data: bytes, message: str) -> None:
    resealed(written, PROGRAM, lambda _: data)
    assert message in refused(written)


def test_a_program_that_says_it_is_huge(written: Path) -> None:
    def inflate(data: bytes) -> bytes:
        length = int.from_bytes(data[8:12], "little")
        header = json.loads(data[12 : 12 + length])
        header["instructions"] = 2**28
        text = json.dumps(header).encode()
        return data[:8] + len(text).to_bytes(4, "little") + text + data[12 + length :]

    resealed(written, PROGRAM, inflate)
    assert "has not its" in refused(written)


Edit = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda content: content.pop("format"), "is not the manifest of a package"),
        (lambda content: content.update(format="elf"), "has format 'elf'"),
        (lambda content: content.update(version=1), "has version 1, this is version 2"),
        (lambda content: content.update(outputs=[]), "there are no outputs"),
        (lambda content: content.pop("inputs"), "is corrupt: KeyError 'inputs'"),
        (lambda content: content.update(inputs=3), "is corrupt"),
        (lambda content: content.update(inputs=[3]), "is corrupt"),
        (lambda content: content.update(options=[3]), "is corrupt"),
        (lambda content: content["inputs"][0].update(shape=[10**9, 10**9]), "is corrupt"),
        (lambda content: content["inputs"][0].update(shape=[1] * 40), "is corrupt"),
        (lambda content: content["inputs"][0].update(shape=[0]), "is corrupt"),
        (lambda content: content["inputs"][0].update(dtype="object"), "element type 'object'"),
        (lambda content: content["inputs"][0].update(shape=[4, 2]), "index_0 does not have shape [4, 2]"),
        (lambda content: content["inputs"][1].update(strides=[1]), "is corrupt"),
        (lambda content: content["inputs"][1].update(strides=[1000, 1]), "input m takes bytes 16 to"),
        (lambda content: content["inputs"][1].update(address_bytes=-1), "is corrupt"),
        (lambda content: content["outputs"][0].update(address_bytes=255), "output y takes bytes 255 to 263"),
        (lambda content: content["inputs"][1].update(name="x"), "two inputs have the same name"),
        (lambda content: content.update(global_memory_bytes=10**30), "is corrupt"),
        (lambda content: content["files"].pop(PROGRAM), "does not list program.bin"),
        (lambda content: content["files"].update({"../../etc/passwd": {}}), "is no file name"),
        (lambda content: content["machine"].update(name=7), "is corrupt"),
        (lambda content: content.pop("target"), "is corrupt: KeyError 'target'"),
        (lambda content: content.update(target=7), "is corrupt"),
        (lambda content: content["target"].pop("array_rows"), "is corrupt"),
        (lambda content: content["target"].update(array_rows=-1), "is corrupt"),
        (lambda content: content["target"].update(colour=1), "is corrupt"),
        (lambda content: content["target"].update(array_rows=1), "does not have the target that program.bin has"),
    ],
)
def test_hostile_manifests(written: Path, edit: Edit, message: str) -> None:
    content = json.loads((written / MANIFEST).read_text())
    edit(content)
    write_sealed(written, content)
    assert message in refused(written)


@pytest.mark.parametrize(
    "edit",
    [
        lambda content: content["inputs"][1].update(strides=[2, 1]),
        lambda content: content["inputs"][1].update(name="other"),
        lambda content: content["inputs"].reverse(),
        lambda content: content["outputs"][0].update(index=True),
        lambda content: content["options"].update(replicas=5),
        lambda content: content["statistics"].update(cores=7),
        lambda content: content.update(sha256=""),
        lambda content: content.update(more=1),
    ],
)
def test_an_edited_manifest_is_refused(written: Path, edit: Edit) -> None:
    """Also where it would still make sense; how it is laid out does not matter."""
    content = json.loads((written / MANIFEST).read_text())
    (written / MANIFEST).write_text(json.dumps(dict(reversed(content.items())), indent=3))
    read_package(written)
    edit(content)
    (written / MANIFEST).write_text(json.dumps(content))
    what = "does not have the content that its sha256 says; compile the model again"
    assert refused(written) == f"error: {written}/{MANIFEST}: {what}"
    content.pop("sha256")
    (written / MANIFEST).write_text(json.dumps(content))
    assert "is corrupt: KeyError 'sha256'" in refused(written)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100000, '{"format": 1, "format": 2}'])
def test_malformed_manifests(written: Path, text: str) -> None:
    (written / MANIFEST).write_text(text)
    refused(written)


def test_things_that_are_no_packages(tmp_path: Path) -> None:
    (tmp_path / "file.tilepkg").write_bytes(b"hello")
    (tmp_path / "empty").mkdir()
    with zipfile.ZipFile(tmp_path / "other.tilepkg", "w") as archive:
        archive.writestr("a.txt", "hello")
    assert "does not exist" in refused(tmp_path / "nowhere")
    assert "is no package" in refused(tmp_path / "file.tilepkg")
    assert "is no package" in refused(tmp_path / "empty")
    assert "is no package" in refused(tmp_path / "other.tilepkg")


def test_damaged_and_compressed_zips(written: Path, tmp_path: Path) -> None:
    write_package(example(), tmp_path / "p.tilepkg")
    whole = (tmp_path / "p.tilepkg").read_bytes()
    for at in range(0, len(whole), max(1, len(whole) // 80)):
        for damaged in (whole[:at], whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :]):
            (tmp_path / "d.tilepkg").write_bytes(damaged)
            try:
                read_package(tmp_path / "d.tilepkg", with_reports=True)
            except TileError:
                continue
    with zipfile.ZipFile(tmp_path / "c.tilepkg", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in written.rglob("*"):
            archive.write(path, path.relative_to(written))
    assert "is compressed" in refused(tmp_path / "c.tilepkg")


def test_a_directory_where_a_file_should_be(written: Path) -> None:
    (written / PROGRAM).unlink()
    (written / PROGRAM).mkdir()
    assert "cannot be read" in refused(written)
    shutil.rmtree(written / PROGRAM)


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
