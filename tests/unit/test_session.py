"""What tools do about closed or full streams, and about signals."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from tilec.support.files import atomic_file
from tilec.tools import tile_opt
from tilec.tools.session import run_tool


class FullStream(io.StringIO):
    """Takes text, and fails to pass it on."""

    def flush(self) -> None:
        raise OSError(28, "No space left on device")


def prints(arguments: Sequence[str]) -> int:
    print("result")
    return 0


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["--list-passes"]])
def test_a_full_output_is_an_error(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdout", FullStream())
    assert tile_opt.main(arguments) == 1
    what = "cannot be written: no space left on device; write elsewhere"
    assert capsys.readouterr().err == f"error: standard output: {what}\n"


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["--list-passes"]])
def test_a_closed_output_is_an_error(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert tile_opt.main(arguments) == 1
    assert capsys.readouterr().err == "error: standard output: is closed; open it, or name an output file\n"


def test_a_path_that_is_no_text_is_printed(tmp_path: Path) -> None:
    """The system's names of files are bytes; what of them is no UTF-8 is shown by its number."""
    source, output = tmp_path / "in.mlir", os.fsencode(tmp_path) + b"/\xffq"
    source.write_text(
        "func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {\n"
        "  %y = onnx.Relu(%x) : (tensor<1x2xf32>) -> tensor<1x2xf32>\n  func.return %y : tensor<1x2xf32>\n}\n"
    )
    command = [sys.executable, "-m", "tilec.tools.tile_compile", source, "-o", output, "--machine", "tiny4"]
    for locale in ("C.UTF-8", "C"):
        done = subprocess.run(command, capture_output=True, env={**os.environ, "LC_ALL": locale}, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout.startswith(os.fsencode(tmp_path) + b"/\\udcffq: sha256 ")
        done = subprocess.run([*command, "--resources", output], capture_output=True, check=False)
        assert done.returncode == 1
        assert b"/\\udcffq" in done.stderr


def test_messages_may_be_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    assert run_tool("tool", prints, [], results_on_stdout=False) == 0
    assert sys.stdin.read() == ""


def test_a_process_without_streams(tmp_path: Path) -> None:
    source, output = tmp_path / "in.mlir", tmp_path / "out.mlir"
    source.write_text("builtin.module {\n}\n")
    command = f'exec "{sys.executable}" -m tilec.tools.tile_opt "$@" <&- >&- 2>&-'
    run = ["sh", "-c", command, "sh", str(source)]
    assert subprocess.run(run, check=False).returncode == 1
    assert subprocess.run([*run, "-o", str(output)], check=False).returncode == 0
    assert output.read_text() == source.read_text()


@pytest.mark.parametrize(
    ("name", "code", "message"), [("SIGTERM", 143, ""), ("SIGHUP", 129, ""), ("SIGINT", 130, "error: interrupted\n")]
)
def test_a_signal_leaves_no_temporary_file(
    name: str, code: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    number = getattr(signal, name)
    before = signal.getsignal(number)

    def body(arguments: Sequence[str]) -> int:
        with atomic_file(tmp_path / "out") as temporary:
            temporary.write_text("half")
            os.kill(os.getpid(), number)
            threading.Event().wait(10)
        return 0

    assert run_tool("tool", body, []) == code
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().err == message
    assert signal.getsignal(number) == before


@pytest.mark.parametrize(("name", "code", "message"), [("SIGTERM", 143, ""), ("SIGINT", 130, "error: interrupted\n")])
def test_a_signal_amid_an_import(name: str, code: int, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Machine code that imports a module may say of any exception that the import has failed."""

    def body(arguments: Sequence[str]) -> int:
        try:
            os.kill(os.getpid(), getattr(signal, name))
            threading.Event().wait(10)
        except BaseException:
            raise ImportError("numpy._core.multiarray failed to import") from None
        return 0

    assert run_tool("tool", body, []) == code
    assert capsys.readouterr().err == message


def test_an_ignored_signal_remains_ignored(capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def body(arguments: Sequence[str]) -> int:
        os.kill(os.getpid(), signal.SIGHUP)
        return prints(arguments)

    try:
        assert run_tool("tool", body, []) == 0
    finally:
        signal.signal(signal.SIGHUP, before)
    assert capsys.readouterr().out == "result\n"


def test_tools_run_outside_the_main_thread() -> None:
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(run_tool("tool", prints, [])))
    thread.start()
    thread.join()
    assert codes == [0]


INTERRUPTED_IMPORT = """
import importlib, os, signal, sys

class Interrupting:
    def find_spec(self, name, *_):
        if name == sys.argv[1]:
            os.kill(os.getpid(), signal.SIGINT)

for name in [name for name in sys.modules if name.startswith(("typing", "collections.abc", "threading"))]:
    del sys.modules[name]
sys.meta_path.insert(0, Interrupting())
tool = importlib.import_module("tilec.tools." + sys.argv[2])
sys.exit(tool.main([]))
"""


@pytest.mark.parametrize("tool", ["tile_opt", "tile_compile", "tile_run", "tile_report"])
@pytest.mark.parametrize("module", ["collections.abc", "typing", "threading", "tilec.tools.session", "tilec.support"])
def test_an_interrupt_while_the_first_modules_load(module: str, tool: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED_IMPORT, module, tool]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "error: interrupted\n")


def test_an_interrupt_while_memory_is_seen_to() -> None:
    command = [sys.executable, "-c", INTERRUPTED_IMPORT, "ctypes", "tile_compile"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "error: interrupted\n")


def test_who_imports_a_tool_keeps_the_handler() -> None:
    code = "import signal, tilec.tools.tile_opt; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"True\n"
