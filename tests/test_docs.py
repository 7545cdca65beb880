"""The shell blocks of the documents run, and print what the documents say.

A ```sh block after the comment ``<!-- run -->`` runs. The block after ``<!-- output -->`` is compared with what the
last block printed, to stdout and stderr; after ``<!-- output of: COMMAND -->``, with what the command prints. There, a
line ``...`` stands for any lines and ``…`` for any part of a line; the output may have more lines before and after. The
blocks of one document run in order, in one folder, with `examples/` in it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted(path for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")))

_BLOCK = re.compile(
    r"^<!-- (run|output)(?: of: (?P<command>[^\n]*))? -->\n```(\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
_LINK = re.compile(r"\]\((?!https?://|#)(?P<file>[^)#]+)(?:#[^)]*)?\)")


@dataclass(frozen=True)
class Block:
    """A block with a comment before it."""

    line: int
    is_output: bool
    command: str | None
    text: str


def blocks(text: str) -> list[Block]:
    """The marked blocks of a document, in order."""
    return [
        Block(text.count("\n", 0, match.start()) + 1, match[1] == "output", match["command"], match["text"])
        for match in _BLOCK.finditer(text)
    ]


def mismatch(expected: str, printed: str) -> str | None:
    """The first lines of ``expected`` that are not in ``printed``, or None."""
    lines = [line.rstrip() for line in printed.splitlines()]
    at = 0
    for chunk in re.split(r"^\.\.\.\n", expected, flags=re.MULTILINE):
        patterns = [re.escape(line.rstrip()).replace("…", ".*") for line in chunk.splitlines()]
        while at + len(patterns) <= len(lines):
            if all(re.fullmatch(one, lines[at + offset]) for offset, one in enumerate(patterns)):
                break
            at += 1
        else:
            return chunk
        at += len(patterns)
    return None


def shell(script: str, folder: Path) -> str:
    """What the script prints; it must not fail."""
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, f"exit code {done.returncode}:\n{script}\n{done.stdout}"
    return done.stdout


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_blocks(document: Path, tmp_path: Path) -> None:
    text = document.read_text(encoding="utf-8")
    found = blocks(text)
    assert len(found) == len(re.findall(r"^<!-- (?:run|output)\b", text, re.MULTILINE)), "a marked block is malformed"
    if found:
        shutil.copytree(ROOT / "examples", tmp_path / "examples")
    printed = ""
    for block in found:
        if not block.is_output:
            printed = shell(block.text, tmp_path)
            continue
        if block.command is not None:
            printed = shell(block.command, tmp_path)
        missing = mismatch(block.text, printed)
        assert missing is None, f"{document.name}:{block.line}: not printed:\n{missing}\nprinted:\n{printed}"
    if document.name != "README.md":
        return
    # Who takes the tour stands in a clone.
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    left = {one.name for one in tmp_path.iterdir()} - {"examples"}
    assert not {name for name in left if f"/{name}" not in ignored and f"/{name}/" not in ignored}, "not in .gitignore"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links(document: Path) -> None:
    """Every relative link leads to a file."""
    text = document.read_text(encoding="utf-8")
    broken = [match["file"] for match in _LINK.finditer(text) if not (document.parent / match["file"]).exists()]
    assert not broken


def test_mismatch() -> None:
    printed = "one\ntwo 2.5 s\nthree\nfour\n"
    for matching in ("one\n", "two … s\n", "one\n...\nfour\n", "two…\nthree\n"):
        assert mismatch(matching, printed) is None
    for other in ("two\n", "four\n...\none\n", "one\nthree\n", "one\n...\none\n"):
        assert mismatch(other, printed) is not None
