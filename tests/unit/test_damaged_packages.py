"""Damaged packages: nothing gets past the reader, and every refusal says what is wrong."""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from package_example import example
from tilec.codegen.package import (
    MANIFEST,
    PROGRAM,
    PROGRAM_JSON,
    WEIGHTS,
    read_package,
    write_package,
)
from tilec.support.diagnostics import TileError


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
    assert ("not a package" if name == MANIFEST else "is missing") in refused(written)


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
    assert "does not have its" in refused(written)


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
        (lambda content: content["files"].update({"../../etc/passwd": {}}), "is not a file name"),
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
    assert "is not a package" in refused(tmp_path / "file.tilepkg")
    assert "is not a package" in refused(tmp_path / "empty")
    assert "is not a package" in refused(tmp_path / "other.tilepkg")


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
