"""Runs the RUN lines of lit tests in this process, where that is possible, because starting Python costs the most.

A line is run here if it is a pipeline of `tile-opt`, `tile-compile`, `tile-report`, `filecheck`, `cat` and `not` with
the redirections `2>&1`, `> FILE`, `2> FILE` and `< FILE`, or several of these joined by `&&`. Any other line is given
to bash. Of lit's substitutions there are `%s`, `%S`, `%t` and `%%`.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field
from pathlib import Path

import filecheck.main
from tilec.tools import tile_compile, tile_opt, tile_report

TOOLS = Path(__file__).parent / "filecheck" / "tools"
_RUN = re.compile(r"RUN:[ \t]?(.*)")


class NotSupported(Exception):
    """The line needs a shell."""


@dataclass
class Command:
    """One command of a pipeline."""

    words: list[str]
    redirections: dict[str, str] = field(default_factory=dict)

    @property
    def negated(self) -> bool:
        return self.words[0] == "not"

    @property
    def program(self) -> str:
        return self.words[1] if self.negated else self.words[0]

    @property
    def arguments(self) -> list[str]:
        return self.words[2:] if self.negated else self.words[1:]


def run_lines(path: Path) -> list[str]:
    """The RUN lines of a test, continued lines joined."""
    lines: list[str] = []
    continued = False
    for match in _RUN.finditer(path.read_text(encoding="utf-8")):
        text = match[1].strip()
        if continued:
            lines[-1] = lines[-1][:-1] + text
        else:
            lines.append(text)
        continued = text.endswith("\\")
    return lines


def run_test(path: Path, temporary: Path) -> str:
    """Runs the test at ``path``; gives an explanation of the first failure, or nothing if it passes."""
    lines = run_lines(path)
    if not lines:
        return f"{path} has no RUN line"
    for line in lines:
        command = _substitute(line, path, temporary)
        try:
            failure = run_here(command)
        except NotSupported:
            failure = run_in_shell(command)
        if failure:
            return f"RUN: {command}\n{failure}"
    return ""


def run_here(line: str) -> str:
    """Runs a command line in this process."""
    for pipeline in parse(line):
        data = b""
        failures: list[str] = []
        for command in pipeline:
            data, errors, code = _run_command(command, data)
            failed = (code != 1) if command.negated else (code != 0)
            if failed:
                failures.append(f"'{' '.join(command.words)}' gave exit code {code}\n{errors.decode()}")
        if failures:
            return "\n".join(failures)
    return ""


def run_in_shell(line: str) -> str:
    """Runs a command line with bash."""
    search = os.pathsep.join([str(TOOLS), str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line], capture_output=True, env={**os.environ, "PATH": search}, check=False
    )
    output = (done.stdout + done.stderr).decode(errors="replace")
    return f"exit code {done.returncode}\n{output}" if done.returncode else ""


def parse(line: str) -> Iterator[list[Command]]:
    """The pipelines of a line."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>()")
    lexer.whitespace_split = True
    lexer.commenters = ""
    words = list(lexer)
    pipeline: list[Command] = []
    command = Command([])
    position = 0

    def finish() -> None:
        if not command.words or command.program not in PROGRAMS:
            raise NotSupported
        pipeline.append(command)

    while position < len(words):
        word = words[position]
        following = words[position + 1] if position + 1 < len(words) else ""
        match word:
            case "|":
                finish()
                command = Command([])
            case "&&":
                finish()
                yield pipeline
                pipeline, command = [], Command([])
            case ">&" if following == "1" and command.words[-1] == "2":
                command.words.pop()
                command.redirections["2"] = "1"
                position += 1
            case ">" if command.words[-1] == "2":
                command.words.pop()
                command.redirections["2"] = following
                position += 1
            case ">" | "<":
                command.redirections[word] = following
                position += 1
            case _ if set(word) <= set("|&;<>()"):
                raise NotSupported
            case _:
                command.words.append(word)
        position += 1
    finish()
    yield pipeline


def _substitute(line: str, path: Path, temporary: Path) -> str:
    values = {"%s": path, "%S": path.parent, "%t": temporary / f"{path.name}.tmp", "%%": "%"}
    return re.sub("%[sSt%]", lambda match: str(values[match[0]]), line)


def _run_command(command: Command, data: bytes) -> tuple[bytes, bytes, int]:
    """Output, errors and exit code of ``command`` on ``data``."""
    if "<" in command.redirections:
        data = Path(command.redirections["<"]).read_bytes()
    output, errors = io.BytesIO(), io.BytesIO()
    merge = command.redirections.get("2") == "1"
    with _streams(data, output, output if merge else errors):
        code = copy_context().run(PROGRAMS[command.program], command.arguments)
    if (target := command.redirections.get("2", "1")) != "1":
        Path(target).write_bytes(errors.getvalue())
    if (target := command.redirections.get(">")) is not None:
        Path(target).write_bytes(output.getvalue())
        return b"", errors.getvalue(), code
    return output.getvalue(), errors.getvalue(), code


@contextmanager
def _streams(data: bytes, output: io.BytesIO, errors: io.BytesIO) -> Iterator[None]:
    saved = sys.stdin, sys.stdout, sys.stderr
    sys.stdin = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8")
    streams = [io.TextIOWrapper(stream, encoding="utf-8", write_through=True) for stream in (output, errors)]
    sys.stdout, sys.stderr = streams
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = saved
        for stream in streams:
            stream.flush()
            stream.detach()


def _exit_code(run: Callable[[], object]) -> int:
    try:
        code = run()
    except SystemExit as exit:
        code = exit.code
    return code if isinstance(code, int) else 0


def _tile_opt(arguments: list[str]) -> int:
    return _exit_code(lambda: tile_opt.main(arguments))


def _tile_compile(arguments: list[str]) -> int:
    return _exit_code(lambda: tile_compile.main(arguments))


def _tile_report(arguments: list[str]) -> int:
    return _exit_code(lambda: tile_report.main(arguments))


def _filecheck(arguments: list[str]) -> int:
    return _exit_code(lambda: filecheck.main.main(["filecheck", *arguments]))


def _cat(arguments: list[str]) -> int:
    for name in arguments:
        try:
            sys.stdout.write(Path(name).read_text(encoding="utf-8"))
        except OSError:
            return 1
    if not arguments:
        sys.stdout.write(sys.stdin.read())
    return 0


PROGRAMS: dict[str, Callable[[list[str]], int]] = {
    "tile-opt": _tile_opt,
    "tile-compile": _tile_compile,
    "tile-report": _tile_report,
    "filecheck": _filecheck,
    "cat": _cat,
}
