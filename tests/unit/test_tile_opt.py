"""`tile-opt` as a process: exit codes, what it loads, what it leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from shtest import run_lines, run_test
from tilec.passes.pass_bug import PassBug
from tilec.passes.registry import NAMED_PIPELINES, PASSES, all_passes
from tilec.support.diagnostics import TileError
from tilec.tools import tile_opt
from tilec.tools.opt_arguments import parse_arguments
from tilec.tools.opt_input import Chunk, OnnxInput, read_input
from tilec.tools.session import run_tool

TILE_OPT = (sys.executable, "-m", "tilec.tools.tile_opt")
SOURCE = "func.func @f(%a: i32) -> i32 {\n  func.return %a : i32\n}\n"
SLOW_PASS = """
import time
from dataclasses import dataclass
from xdsl.passes import ModulePass

@dataclass(frozen=True)
class SlowPass(ModulePass):
    name = "slow"

    def apply(self, ctx, op):
        print("started", flush=True)
        time.sleep(60)
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source.mlir"
    path.write_text(SOURCE)
    return path


def loaded_modules(*arguments: str) -> set[str]:
    """The modules that a run of tile-opt imports."""
    script = "import sys; from tilec.tools.tile_opt import main\ntry: main(sys.argv[1:])\nfinally: print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False)
    return set(done.stdout.split("\n")[-2].split())


class TestStartUp:
    def test_help_loads_no_ir(self) -> None:
        loaded = loaded_modules("--help")
        assert not loaded & {"xdsl", "numpy", "lark", "onnx"}

    def test_a_text_file_loads_only_what_it_needs(self, source: Path) -> None:
        loaded = loaded_modules(str(source))
        assert "xdsl.dialects.func" in loaded
        assert not loaded & {"numpy", "lark", "onnx", "xdsl.dialects.scf", "tilec.dialects.tile"}

    def test_only_a_pipeline_with_more_than_names_loads_the_grammar(self, source: Path) -> None:
        loaded = loaded_modules(str(source), "-p", "cse,dce")
        assert not loaded & {"numpy", "lark", "onnx"}
        loaded = loaded_modules(str(source), "-p", "builtin.module(cse)")
        assert "lark" in loaded
        assert not loaded & {"numpy", "onnx"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "@t", "--print-ir-tree-dir", "@t"], "t: is also what -o writes; name another place"),
        (["-o", "@t", "--print-ir-tree-dir", "@x/../t"], "t: is also what -o writes; name another place"),
        (["-o", "@t", "--print-ir-tree-dir", "@t/tree"], "t/tree: lies in what -o writes; name another place"),
        (["--emit-resources", "@t", "--print-ir-tree-dir", "@t"], "t: is also what --emit-resources writes; "),
        (["-o", "@tree/resources.npz", "--print-ir-tree-dir", "@tree"], "cannot be written: there is no directory"),
    ],
)
def test_a_tree_of_dumps_has_a_place_of_its_own(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [one.replace("@", f"{tmp_path}/") for one in options]
    source = tmp_path / "source.mlir"
    source.write_text(SOURCE)
    assert tile_opt.main([str(source), "-p", "cse", *given]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert list(tmp_path.iterdir()) == [source]


class TestExit:
    def test_interrupt_leaves_nothing(self, source: Path, tmp_path: Path) -> None:
        plugin = tmp_path / "slow.py"
        plugin.write_text(SLOW_PASS)
        folder = tmp_path / "out"
        folder.mkdir()
        command = [*TILE_OPT, str(source), "--load-pass-plugin", str(plugin), "-p", "slow", "-o", str(folder / "x")]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
        assert process.returncode == 130
        assert "Traceback" not in errors
        assert list(folder.iterdir()) == []

    def test_a_closed_pipe_is_quiet(self, tmp_path: Path) -> None:
        large = tmp_path / "large.mlir"
        large.write_text("".join(SOURCE.replace("@f", f"@f{number}") for number in range(2000)))
        process = subprocess.Popen([*TILE_OPT, str(large)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=20) == 141

    def test_a_full_disk_is_an_error(self, source: Path) -> None:
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run([*TILE_OPT, str(source)], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 1
        assert done.stderr == "error: standard output: cannot be written: no space left on device; write elsewhere\n"

    def test_deep_nesting_is_an_error(self, tmp_path: Path) -> None:
        deep = tmp_path / "deep.mlir"
        deep.write_text("builtin.module {\n" * 5000 + "}\n" * 5000)
        done = subprocess.run([*TILE_OPT, str(deep)], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert "nested too deeply" in done.stderr
        assert "Traceback" not in done.stderr

    def test_an_output_file_keeps_what_it_had(self, source: Path, tmp_path: Path) -> None:
        output = tmp_path / "kept.mlir"
        output.write_text("kept")
        source.write_text("nonsense")
        done = subprocess.run([*TILE_OPT, str(source), "-o", str(output)], capture_output=True, check=False)
        assert done.returncode == 1
        assert output.read_text() == "kept"

    @pytest.mark.parametrize(
        ("error", "code", "message"),
        [
            (TileError("here", "this is wrong", "do that"), 1, "error: here: this is wrong; do that\n"),
            (FileNotFoundError(2, "No such file", "f.mlir"), 1, "error: f.mlir: no such file; name another one\n"),
            (RecursionError(), 1, "error: tool: the input is nested too deeply; flatten it\n"),
            (KeyError("lost"), 70, "error: tool: internal error: KeyError: 'lost'; this is an error in the compiler"),
            (
                PassBug("p", KeyError("lost")),
                70,
                "error: tool: internal error: pass 'p' failed: KeyError: 'lost'; this is an error in the compiler",
            ),
            (
                PassBug("p", KeyError("lost"), is_ours=False),
                1,
                "error: tool: pass 'p' failed: KeyError: 'lost'; this is an error in the pass",
            ),
            (KeyboardInterrupt(), 130, "error: interrupted\n"),
        ],
    )
    def test_codes(self, error: BaseException, code: int, message: str, capsys: pytest.CaptureFixture[str]) -> None:
        def body(arguments: object) -> int:
            raise error

        assert run_tool("tool", body, []) == code
        assert capsys.readouterr().err.startswith(message)


class TestInput:
    def test_text_is_utf_8_in_every_locale(self, tmp_path: Path) -> None:
        path = tmp_path / "text.mlir"
        path.write_text('builtin.module attributes {a = "\u00e9"} {\n}\n', encoding="utf-8")
        environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
        done = subprocess.run([*TILE_OPT, str(path)], capture_output=True, check=False, env=environment)
        assert (done.returncode, done.stderr) == (0, b"")

    @pytest.mark.parametrize(
        "data",
        [
            b"\xff\xfe\x00",
            b'"' + b"a" * 99,
            b"func.func @f(",
            b'"a.b"() {x = 0x',
            b"\x00",
            b"}" * 100,
            b'"' * 99,
            b"%",
            b"!x = i32\n!x",
        ],
    )
    def test_garbage_is_refused(self, data: bytes, tmp_path: Path) -> None:
        path = tmp_path / "garbage.mlir"
        path.write_bytes(data)
        done = subprocess.run([*TILE_OPT, str(path)], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert done.stderr.startswith(f"error: {path}:")
        assert "Traceback" not in done.stderr

    def test_chunks_keep_their_lines(self, tmp_path: Path) -> None:
        path = tmp_path / "chunks.mlir"
        path.write_text("a\nb\n// -----\nc\n  // -----\nd\n// -----")
        chunks = read_input(str(path), split=True)
        assert chunks == [
            Chunk(str(path), "a\nb"),
            Chunk(str(path), "\n\n\nc\n  // -----\nd"),
            Chunk(str(path), "\n" * 7),
        ]

    def test_models_are_known_by_name_or_content(self, tmp_path: Path) -> None:
        named, unnamed = tmp_path / "a.onnx", tmp_path / "a"
        for path in (named, unnamed):
            path.write_bytes(b"\x08\x0a")
            assert read_input(str(path)) == OnnxInput(str(path), path)

    def test_a_model_is_not_read_just_to_tell_what_it_is(self, tmp_path: Path) -> None:
        """Its first byte tells, or its name. Behind a pipe, text that follows that byte is not lost."""
        path = tmp_path / "large"
        with path.open("wb") as file:
            file.write(b"\x08")
            file.truncate(1 << 40)  # More than any memory holds.
        assert read_input(str(path)) == OnnxInput(str(path), path)
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_text, args=("builtin.module {}\n",))
        writer.start()
        assert read_input(str(pipe)) == [Chunk(str(pipe), "builtin.module {}\n")]
        writer.join()

    def test_a_name_that_is_no_text_becomes_a_location(self, tmp_path: Path) -> None:
        path, output = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.mlir"), tmp_path / "out.mlir"
        Path(path).write_text("builtin.module {\n}\n")
        subprocess.run([*TILE_OPT, path, "--mlir-print-debuginfo", "-o", str(output)], check=True)
        assert r'\\udcff.mlir":1:1' in output.read_text()

    def test_a_device_is_refused(self) -> None:
        """It may have no end. That of a standard stream is what the user has connected."""
        with pytest.raises(TileError, match=r"^error: /dev/zero: is a device, which may have no end; give a \.mlir"):
            read_input("/dev/zero")
        with open(os.devnull, "rb") as null:
            name = f"/dev/fd/{null.fileno()}"
            assert read_input(name) == [Chunk(name, "")]


class TestRegistry:
    @pytest.mark.parametrize("name", PASSES)
    def test_passes_have_the_name_they_are_registered_by(self, name: str) -> None:
        assert all_passes()[name]().name == name

    def test_names_are_taken_once(self) -> None:
        assert not set(PASSES) & set(NAMED_PIPELINES)


class TestArguments:
    def test_every_flag_has_a_value(self) -> None:
        options = parse_arguments(["x.mlir", "-print-ir-after=a,b", "--mlir-print-ir-after", "c", "-timing=1", "--cse"])
        assert options.input == "x.mlir"
        assert options.print_ir_after == ("a", "b", "c")
        assert options.timing
        assert options.pipeline == "cse"

    def test_passes_as_options_keep_their_order(self) -> None:
        assert parse_arguments(["--cse", "--canonicalize=x=1 y", "--cse"]).pipeline == "cse,canonicalize{x=1 y},cse"

    def test_stdin_is_the_default(self) -> None:
        assert parse_arguments([]).input == "-"


@pytest.mark.slow
def test_start_up_time(source: Path) -> None:
    for limit_seconds, arguments in ((0.5, ("--help",)), (0.7, (str(source), "-p", "canonicalize"))):
        times: list[float] = []
        for _ in range(3):
            begin = time.perf_counter()
            subprocess.run([*TILE_OPT, *arguments], capture_output=True, check=True, env=os.environ)
            times.append(time.perf_counter() - begin)
        assert min(times) <= limit_seconds, arguments


def test_a_pass_that_exits_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, plugin, output = tmp_path / "in.mlir", tmp_path / "plugin.py", tmp_path / "out.mlir"
    source.write_text("builtin.module {}\n")
    plugin.write_text(
        "from xdsl.passes import ModulePass\n\nclass ExitPass(ModulePass):\n    name = 'exit-it'\n\n"
        "    def apply(self, ctx, op):\n        raise SystemExit(0)\n"
    )
    for guard in ("error", "rollback", "off"):
        arguments = [str(source), "--load-pass-plugin", str(plugin), "-p", "exit-it", "-o", str(output)]
        assert tile_opt.main([*arguments, f"--guard={guard}"]) == 1
        said = capsys.readouterr().err
        assert said.startswith("error: tile-opt: pass 'exit-it' failed: SystemExit: 0; this is an error in the pass")
        assert not output.exists()


def test_passes_of_a_plugin_may_have_a_base(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Which is none itself, having no name."""
    source, plugin = tmp_path / "in.mlir", tmp_path / "plugin.py"
    source.write_text("builtin.module {}\n")
    base = (
        "from xdsl.passes import ModulePass\n\nclass Base(ModulePass):\n    def apply(self, ctx, op):\n        pass\n"
    )
    plugin.write_text(base + "\nclass Mine(Base):\n    name = 'mine'\n")
    arguments = [str(source), "--load-pass-plugin", str(plugin), "-p", "mine"]
    assert tile_opt.main(arguments) == 0
    plugin.write_text(base)
    assert tile_opt.main(arguments) == 1
    assert "defines no pass with a name; derive one from ModulePass" in capsys.readouterr().err


def test_a_crash_reproducer_runs_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the plugin that its pass comes from, and the arrays beside it."""
    plugin = Path(__file__).parents[1] / "filecheck" / "tile-opt" / "inputs" / "passes_for_tests.py"
    source, folder = tmp_path / "in.mlir", tmp_path / "found"
    elements = ", ".join(f"{number}.0" for number in range(100))
    source.write_text(f"builtin.module attributes {{a = #tile.array<f32[100] [{elements}]>}} {{}}\n")
    folder.mkdir()
    monkeypatch.chdir(plugin.parent)
    options = ["--load-pass-plugin", plugin.name, "-p", "test-mark,test-give-up"]
    reproducer = folder / "rep.mlir"
    assert tile_opt.main([str(source), *options, "--crash-reproducer", str(reproducer)]) == 1
    assert (folder / "rep.npz").exists()
    monkeypatch.chdir(tmp_path)
    (line,) = run_lines(reproducer)
    assert "--resources=%S/rep.npz" in line
    moved = folder.rename(tmp_path / "moved")
    capsys.readouterr()
    assert "error: pass 'test-give-up': cannot do this" in run_test(moved / "rep.mlir", tmp_path / "temporary")


def test_an_interrupt_leaves_both_results_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """At every rename: both files are complete before the first, and the interrupt waits for the second."""
    source, folder = tmp_path / "in.mlir", tmp_path / "results"
    source.write_text("builtin.module attributes {a = #tile.array<f32[2] [1.0, 2.0]>} {}\n")
    folder.mkdir()
    options = ["--elide-larger-than=1", "-o", str(folder / "x.mlir"), "--emit-resources", str(folder / "x.npz")]
    replace = os.replace
    seen: list[int] = []

    def interrupted(source: Path, target: Path) -> None:
        if target.name in ("x.mlir", "x.npz"):
            seen.append(len(list(folder.iterdir())))
            if len(seen) == 1:
                os.kill(os.getpid(), signal.SIGINT)
        replace(source, target)

    monkeypatch.setattr(os, "replace", interrupted)
    assert tile_opt.main([str(source), *options]) == 130
    assert seen == [2, 2]
    assert sorted(path.name for path in folder.iterdir()) == ["x.mlir", "x.npz"]
    monkeypatch.undo()

    def fails(path: Path, text: str, encoding: str) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(10)

    for path in folder.iterdir():
        path.unlink()
    monkeypatch.setattr(Path, "write_text", fails)
    assert tile_opt.main([str(source), *options]) == 130
    assert list(folder.iterdir()) == []
    assert capsys.readouterr().err == "error: interrupted\n" * 2
