"""The functional simulator: every opcode against numpy, communication, and programs that must not run."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import TARGET, load, package, program, store
from tilec.codegen.columns import Columns, Program, Target
from tilec.codegen.isa import Op
from tilec.codegen.memory_image import F32, Constant, GlobalMemory, TensorLayout
from tilec.codegen.package import Package
from tilec.simulators.functional import FunctionalSimulator, run
from tilec.support.diagnostics import TileError

X = np.random.default_rng(0).normal(size=16).astype(np.float32)


def lines(*parts: str) -> str:
    return "\n".join(parts)


def result(body: str, size: int = 8, **made: object) -> F32:
    """``y`` after the 16 elements of ``x`` are loaded to 0, ``body`` is executed, and 64.. is stored."""
    whole = program(lines(load(16), body, store(size, 64)), **made)  # pyright: ignore[reportArgumentType]
    return run(package(whole, size_out=size), {"x": X})["y"]  # pyright: ignore[reportReturnType]


REGISTERS = "sldi r1, imm=64\nsldi r2, imm=0\nsldi r3, imm=8\nsldi r4, imm=2"


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ("vvadd r1, r2, r3, len=8", X[:8] + X[8:]),
        ("vvsub r1, r2, r3, len=8", X[:8] - X[8:]),
        ("vvmax r1, r2, r3, len=8", np.maximum(X[:8], X[8:])),
        ("vvmul r1, r2, r3, len=8", X[:8] * X[8:]),
        ("vvsll r1, r2, r3, len=8", X[:8] * np.exp2(np.trunc(X[8:]))),
        ("vvsra r1, r2, r3, len=8", X[:8] / np.exp2(np.trunc(X[8:]))),
        ("vrelu r1, r2, len=8", np.maximum(X[:8], 0)),
        ("vmv r1, r2, r4, len=8", X[::2]),
        ("vmv r1, r3, r2, len=8", np.full(8, X[8])),
        ("vtanh r1, r2, len=8", np.tanh(X[:8])),
        ("vsigm r1, r2, len=8", 1 / (1 + np.exp(-X[:8]))),
        ("vrsu r1, r2, r2, len=8", np.minimum(X[:8], 0)),
        ("vrsl r1, r2, r4, len=8", np.maximum(X[:8], 2)),
        ("lmv r1, r3, len=8", X[8:]),
        ("lldi r1, len=8, imm=-3", np.full(8, -3)),
        ("ld r1, r30, size=8", X[:8]),
    ],
)
def test_vector_operations(instruction: str, expected: F32) -> None:
    body = lines(REGISTERS, "sldi r30, imm=0", "sldi r31, imm=0", instruction)
    np.testing.assert_allclose(result(body), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ("vvadd r1, r2, r3, len=8, offset=3, select=2", X[3:11] + X[8:]),
        ("vvadd r1, r2, r2, len=8, offset=8, select=4", X[:8] + X[8:]),
        ("vvsub r1, r3, r3, len=8, offset=-8, select=4", X[8:] - X[:8]),
        ("vvmul r5, r2, r3, len=8, offset=64, select=1", X[:8] * X[8:]),
        ("vvmax r4, r6, r3, len=8, offset=62, select=3", np.maximum(X[1:9], X[8:])),
        ("vrelu r4, r6, len=8, offset=62, select=3", np.maximum(X[1:9], 0)),
        ("vsigm r5, r2, len=8, offset=64, select=1", 1 / (1 + np.exp(-X[:8]))),
        ("vrsl r1, r2, r4, len=8, offset=8, select=2", np.maximum(X[8:], 2)),
        ("lmv r4, r6, len=8, offset=62, select=3", X[1:9]),
        ("lldi r5, len=8, imm=-3, offset=64, select=1", np.full(8, -3)),
        ("ld r4, r30, size=8, offset=62, select=1", X[:8]),
    ],
)
def test_offsets(instruction: str, expected: F32) -> None:
    body = lines(REGISTERS, "sldi r5, imm=0", "sldi r6, imm=-61", "sldi r30, imm=0", "sldi r31, imm=0", instruction)
    np.testing.assert_allclose(result(body), expected, rtol=1e-6)


def test_messages_and_stores_with_offsets() -> None:
    sender = lines(load(16), "send r0, size=8, core=1, offset=5, select=2")
    receiver = lines(
        "recv r0, size=8, core=0, offset=20, select=1",
        "sldi r29, imm=128",
        "st r28, r0, size=8, offset=20, select=2",
    )
    found = run(package(program(sender, receiver), size_out=8), {"x": X})["y"]
    np.testing.assert_array_equal(found, X[5:13])


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ("vvdmul r1, r2, r3, len=8", X[:8] @ X[8:]),
        ("vavg r1, r2, r4, len=8", X[::2].mean()),
        ("vavg r1, r3, r2, len=5", X[8]),
    ],
)
def test_operations_with_one_result(instruction: str, expected: float) -> None:
    body = lines(REGISTERS, "lldi r1, len=8, imm=9", instruction)
    np.testing.assert_allclose(result(body), [expected, *[9] * 7], rtol=1e-5)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("sldi r5, imm=40\nsldi r6, imm=24\nsadd r1, r5, r6", 64),
        ("sldi r5, imm=100\nsldi r6, imm=36\nssub r1, r5, r6", 64),
        ("sldi r5, imm=16\nsldi r6, imm=4\nsmul r1, r5, r6", 64),
        ("sldi r5, imm=40\nsaddi r1, r5, imm=24", 64),
        ("sldi r5, imm=16\nsmuli r1, r5, imm=4", 64),
        ("sldi r5, imm=2147483647\nsaddi r1, r5, imm=-2147483583", 64),
        ("sldi r5, imm=-2147483648\nsaddi r5, r5, imm=-2147483648\nsaddi r1, r5, imm=64", 64),
    ],
)
def test_scalar_operations_make_addresses(body: str, expected: int) -> None:
    assert expected == 64
    np.testing.assert_array_equal(result(lines("sldi r2, imm=0", body, "lmv r1, r2, len=8")), X[:8])


@pytest.mark.parametrize("relu", [0, 1])
@pytest.mark.parametrize(("rows", "columns"), [(8, 8), (5, 8), (8, 3), (1, 1)])
def test_matrix_products(rows: int, columns: int, relu: int) -> None:
    matrix = np.random.default_rng(1).normal(size=(rows, columns)).astype(np.float32)
    body = lines(REGISTERS, "lldi r1, len=12, imm=9", f"mvmul r1, r2, mbiw=8, group=1, relu={relu}")
    whole = program(lines(load(16), body, store(12, 64)), groups=[[1, 2]])
    found = run(package(whole, size_out=12, matrices={(0, 1): matrix}), {"x": X})["y"]
    product = X[:rows] @ matrix
    expected = np.full(12, 9, np.float32)
    expected[:8] = 0
    expected[:columns] = np.maximum(product, 0) if relu else product
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ("lmv r6, r5, len=8", X[:8]),
        ("vvadd r6, r5, r5, len=8", 2 * X[:8]),
        ("vrelu r6, r5, len=8", np.maximum(X[:8], 0)),
        ("vsigm r6, r5, len=8", 1 / (1 + np.exp(-X[:8]))),
    ],
)
def test_a_result_may_overlap_its_operand(instruction: str, expected: F32) -> None:
    body = lines(REGISTERS, "sldi r5, imm=62", "sldi r6, imm=64", "lmv r5, r2, len=8", instruction)
    np.testing.assert_allclose(result(body), expected, rtol=1e-6)


def test_a_matrix_product_in_place() -> None:
    matrix = np.eye(8, dtype=np.float32)[::-1].copy()
    body = lines("sldi r2, imm=0", "mvmul r2, r2, mbiw=8, group=0, relu=0")
    whole = program(lines(load(8), body, store(8, 0)), groups=[[2]])
    found = run(package(whole, size_out=8, matrices={(0, 0): matrix}), {"x": X})["y"]
    np.testing.assert_array_equal(found, X[7::-1])


def test_overflow_and_domain_errors_follow_ieee() -> None:
    body = lines(
        REGISTERS,
        "sldi r5, imm=127",
        "sldi r6, imm=80",
        "lldi r6, len=1, imm=2000000000",
        "vvsll r1, r6, r6, len=1",
        "vsigm r6, r1, len=1",
    )
    found = result(body, size=1)
    assert np.isinf(found[0])


def send(core: int, at: int, size: int = 8) -> str:
    return f"sldi r10, imm={at}\nsend r10, size={size}, core={core}"


def recv(core: int, at: int, size: int = 8) -> str:
    return f"sldi r11, imm={at}\nrecv r11, size={size}, core={core}"


def test_messages_arrive_in_order_and_carry_what_was_there() -> None:
    whole = program(
        lines(load(16), send(1, 0), "sldi r1, imm=0", "lldi r1, len=8, imm=7", send(1, 0), send(1, 8)),
        lines(
            recv(0, 0),
            recv(0, 8),
            recv(0, 16),
            "sldi r1, imm=0",
            "sldi r2, imm=16",
            "vvadd r1, r1, r2, len=8",
            send(2, 0),
        ),
        lines(recv(1, 3), store(8, 3)),
    )
    found = run(package(whole, size_out=8), {"x": X})["y"]
    np.testing.assert_array_equal(found, X[:8] + X[8:])


def test_a_ring_of_cores() -> None:
    count = 6
    bodies = [lines(load(8), send(1, 0), recv(count - 1, 64), store(8, 64))]
    step = "sldi r1, imm=0\nsldi r2, imm=32\nlldi r2, len=8, imm=1\nvvadd r1, r1, r2, len=8"
    bodies += [lines(recv(core - 1, 0), step, send((core + 1) % count, 0)) for core in range(1, count)]
    found = run(package(program(*bodies), size_out=8), {"x": X})["y"]
    np.testing.assert_allclose(found, X[:8] + count - 1, rtol=1e-6)


def test_sync_orders_global_memory() -> None:
    whole = program(
        lines("wait event=1, value=1", "sldi r28, imm=0", "sldi r29, imm=200", "ld r0, r28, size=8", store(8, 0)),
        lines(
            load(8),
            "sldi r28, imm=0",
            "sldi r29, imm=200",
            "sldi r30, imm=0",
            "st r28, r30, size=8",
            "sync event=1, core=0",
        ),
    )
    np.testing.assert_array_equal(run(package(whole, size_out=8), {"x": X})["y"], X[:8])


def test_constants_and_layouts() -> None:
    made = package(program(lines(load(64), "sldi r1, imm=64", store(24, 16))))
    index = np.array([[5, 4, 3], [2, 1, 0]], np.int64)
    laid = Package(
        made.program,
        made.weights,
        GlobalMemory(256, (Constant(40, np.array([7, 8], np.float32)),)),
        (TensorLayout("a", (2, 3), 16, (1, 2)), TensorLayout("b", (2, 3), 32, index=index, dtype="int8")),
        (TensorLayout("all", (24,), 128, (1,)), TensorLayout("turned", (2, 3), 144, index=index, dtype="int32")),
    )
    a = np.arange(6, dtype=np.float64).reshape(2, 3)
    b = np.arange(10, 16, dtype=np.int8).reshape(2, 3)
    found = run(laid, {"a": a, "b": b})
    expected = np.zeros(24, np.float32)
    expected[:6] = a.T.reshape(-1)
    expected[16 + index] = b
    np.testing.assert_array_equal(found["all"], [*expected[:16], 15, 14, 13, 12, 11, 10, 0, 0])
    assert found["turned"].dtype == np.int32
    np.testing.assert_array_equal(found["turned"], b)


def test_elements_of_two_bytes() -> None:
    target = Target(8, 4, 4, 256, element_bytes=2)
    body = lines(load(16), "sldi r1, imm=64", "sldi r2, imm=0", "sldi r3, imm=2", "vmv r1, r2, r3, len=4", store(8, 64))
    text = program(body, target=target)
    columns = text.columns
    fixed = Columns.from_arrays(dict(columns.items()) | {"a": np.where(columns.op == Op.LLDI, 2, columns.a)})
    made = Program(target, fixed, text.core_start, text.groups)
    found = run(package(made, size_in=8, size_out=4), {"x": X[:8]})["y"]
    np.testing.assert_array_equal(found, X[:8:2])


CHAIN = lines(
    load(16),
    REGISTERS,
    "mvmul r1, r2, mbiw=8, group=0, relu=1",
    "vvdmul r2, r1, r1, len=8",
    "vvadd r1, r1, r3, len=8",
    "vsigm r1, r1, len=8",
    "vavg r3, r1, r4, len=3",
    store(8, 64),
)


def chain() -> Package:
    matrix = np.random.default_rng(2).normal(size=(8, 8)).astype(np.float32)
    return package(program(CHAIN, groups=[[2]]), size_out=8, matrices={(0, 0): matrix})


@pytest.mark.parametrize("budget", [None, 1, 100000])
def test_many_samples_at_once_are_the_same_as_one_by_one(monkeypatch: pytest.MonkeyPatch, budget: int | None) -> None:
    if budget is not None:
        monkeypatch.setattr("tilec.simulators.functional._MEMORY_BUDGET_BYTES", budget)
    simulator = FunctionalSimulator(chain())
    samples = np.random.default_rng(3).normal(size=(7, 16)).astype(np.float32)
    together = simulator.run({"x": samples})["y"]
    assert together.shape == (7, 8)
    np.testing.assert_allclose(together, [simulator.run({"x": sample})["y"] for sample in samples], rtol=1e-5)


def test_the_same_bits_every_time() -> None:
    assert FunctionalSimulator(chain()).run({"x": X})["y"].tobytes() == run(chain(), {"x": X})["y"].tobytes()


def test_poison_shows_what_was_never_written() -> None:
    made = package(program(lines(load(4), store(8, 0))), size_out=8)
    assert FunctionalSimulator(made).run({"x": X})["y"].tolist() == [*X[:4].tolist(), 0, 0, 0, 0]
    poisoned = FunctionalSimulator(made, poison=True).run({"x": X})["y"]
    assert np.isnan(poisoned.astype(np.float32)).tolist() == [False] * 4 + [True] * 4


def test_progress_reaches_the_end() -> None:
    seen: list[tuple[int, int]] = []
    FunctionalSimulator(chain()).run({"x": X}, lambda done, total: seen.append((done, total)))
    assert seen[-1] == (8, 8)


@given(st.lists(st.sampled_from(["vvadd", "vvsub", "vvmul", "vvmax"]), min_size=1, max_size=12), st.data())
@settings(max_examples=40)
def test_random_straight_line_programs(ops: list[str], data: st.DataObject) -> None:
    functions: dict[str, Callable[[F32, F32], F32]] = {
        "vvadd": np.add,
        "vvsub": np.subtract,
        "vvmul": np.multiply,
        "vvmax": np.maximum,
    }
    address = st.integers(0, 112)
    memory = np.zeros(256, np.float32)
    memory[:16] = X
    body: list[str] = []
    for op in ops:
        to, first, second, length = (
            data.draw(address),
            data.draw(address),
            data.draw(address),
            data.draw(st.integers(1, 16)),
        )
        body += [
            f"sldi r1, imm={to}",
            f"sldi r2, imm={first}",
            f"sldi r3, imm={second}",
            f"{op} r1, r2, r3, len={length}",
        ]
        memory[to : to + length] = functions[op](memory[first : first + length], memory[second : second + length])
    whole = program(lines(load(16), *body, store(128, 0)))
    np.testing.assert_array_equal(run(package(whole, size_out=128), {"x": X})["y"], memory[:128])


@pytest.mark.parametrize(
    ("bodies", "message"),
    [
        (
            ["sldi r1, imm=250\nvrelu r1, r0, len=8"],
            "core 0, instruction 2 (vrelu): writes local memory at bytes 250 to 258",
        ),
        (
            ["sldi r1, imm=-8\nvrelu r0, r1, len=8"],
            "core 0, instruction 2 (vrelu): reads local memory at bytes -8 to 0",
        ),
        (
            ["sldi r1, imm=252\nld r2, r0, size=8"],
            "core 0, instruction 2 (ld): reads global memory at bytes 252 to 260",
        ),
        (["mvmul r0, r1, mbiw=8, group=0, relu=0"], "core 0, instruction 1 (mvmul): array group 0 holds no weights"),
        (["mvmul r0, r1, mbiw=8, group=3, relu=0"], "core 0, instruction 1 (mvmul): group 3 does not exist"),
        ([send(0, 0)], "core 0, instruction 2 (send): a core cannot communicate with itself"),
        (
            [send(1, 0, 4), recv(0, 0, 5)],
            "core 0, instruction 2 (send): sends 4 bytes, but core 1, instruction 2 (recv) exp",
        ),
        (
            [lines(send(1, 0), recv(1, 0)), lines(send(0, 0), recv(0, 0))],
            "program: deadlock: core 0, instruction 2 (send) waits for core 1, core 1, instruction 2 (send) waits for",
        ),
        (["wait event=4, value=2"], "deadlock: core 0, instruction 1 (wait) waits for event 4"),
    ],
)
def test_programs_that_must_not_run(bodies: list[str], message: str) -> None:
    with pytest.raises(TileError, match=re.escape(message)):
        FunctionalSimulator(package(program(*bodies, groups=[[1]])))


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "input x: is not given; it has shape [16]"),
        ({"z": X, "x": X}, "input z: is no input of the package; its inputs are x"),
        ({"x": X[:3]}, "input x: has shape [3]; give it [16]"),
        ({"x": np.zeros((0, 16))}, "different or no numbers of samples"),
    ],
)
def test_bad_inputs(inputs: dict[str, F32], message: str) -> None:
    with pytest.raises(TileError, match=re.escape(message)):
        FunctionalSimulator(package(program(""))).run(inputs)


def test_the_target_of_the_tests_is_small() -> None:
    assert TARGET.local_elements == 256
