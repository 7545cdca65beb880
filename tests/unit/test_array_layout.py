"""Matrices that a thread lays out: the same as those that are copied at once, whenever somebody asks."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilec.codegen.package import package_digest
from tilec.dialects import array_layout
from tilec.dialects.array_layout import Rows, matrix_of
from tilec.dialects.tile import ArrayAttr
from tilec.tools.tile_compile import main

LENET = Path(__file__).parents[2] / "examples" / "mnist_lenet5.onnx"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also small matrices are laid out by threads."""
    monkeypatch.setattr(array_layout, "_LARGE", 2)
    monkeypatch.setattr(array_layout, "_SHARED", 2)


class Held:
    """Threads that lay out do not begin until they may."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.may_begin = threading.Event()
        self.begun = 0
        lay_out = array_layout._lay_out  # pyright: ignore[reportPrivateUsage]

        def later(*arguments: Any) -> None:
            self.begun += 1
            assert self.may_begin.wait(60)
            lay_out(*arguments)

        monkeypatch.setattr(array_layout, "_lay_out", later)


@pytest.fixture
def held(small: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    found = Held(monkeypatch)
    yield found
    found.may_begin.set()


def weights(*shape: int) -> Any:
    """[outputs, channels, rows, columns]"""
    return np.random.default_rng(5).standard_normal(shape).astype(np.float32)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 36), min_size=4, max_size=4),
    st.sampled_from(["<f4", "<f8", "<i4"]),
    st.booleans(),
    st.data(),
)
def test_a_matrix_has_the_elements_in_the_order_of_indices(
    shape: list[int], dtype: str, compiled: bool, data: st.DataObject
) -> None:
    array = np.arange(np.prod(shape)).astype(dtype).reshape(shape)
    first = data.draw(st.integers(0, shape[1] - 1))
    view = array.transpose(2, 3, 1, 0)[:, :, first:]
    expected = [row for plane in view.tolist() for line in plane for row in line]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(array_layout, "_LARGE", 2)
        patch.setattr(array_layout, "_SHARED", 2)
        if not compiled:
            patch.setenv("TILE_NO_LLVM", "1")
        found = matrix_of(view, shape[0])
        begin = data.draw(st.integers(0, len(expected) - 1))
        end = data.draw(st.integers(begin + 1, len(expected)))
        rows = found[begin:end]
        if isinstance(rows, Rows):
            assert rows.every(3).tolist() == [one for row in expected[begin:end] for one in row][::3]
            rows = rows.array
            assert not rows.flags.writeable
        assert rows.dtype == dtype
        assert rows.tolist() == expected[begin:end]


def test_an_attribute_is_known_before_its_elements_are(held: Held) -> None:
    view = weights(40, 6, 3, 2).transpose(2, 3, 1, 0)
    rows = matrix_of(view, 40)
    assert isinstance(rows, Rows)
    attribute = ArrayAttr.get(rows[7:20])
    expected = ArrayAttr.get(np.ascontiguousarray(view).reshape(36, 40)[7:20])
    assert (attribute.shape, attribute.dtype, attribute.has_data) == ((13, 40), np.float32, True)
    assert attribute.data.sample == expected.data.sample
    held.may_begin.set()
    assert attribute == expected
    assert hash(attribute) == hash(expected)
    assert attribute.data.sample == expected.data.sample


def test_what_it_is_made_of_is_let_go(small: None) -> None:
    source = weights(40, 6, 3, 2)
    gone = threading.Event()

    class Watched(np.ndarray[Any, Any]):
        def __del__(self) -> None:
            gone.set()

    rows = matrix_of(source.view(Watched).transpose(2, 3, 1, 0), 40)
    assert isinstance(rows, Rows)
    assert len(rows.array) == 36
    assert gone.wait(30)


def test_an_error_is_raised_where_elements_are_asked_for(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(array_layout, "_lay_out", fail)
    rows = matrix_of(weights(40, 6, 3, 2).transpose(2, 3, 1, 0), 40)
    attribute = ArrayAttr.get(rows)
    for _ in range(2):
        with pytest.raises(MemoryError):
            _ = attribute.array


def test_a_package_is_the_same_however_late_its_matrices_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: None
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(array_layout, "_SHARED", 1 << 30)
        assert main([str(LENET), "-q", "-o", str(tmp_path / "at_once")]) == 0
    held = Held(monkeypatch)
    threading.Timer(2, held.may_begin.set).start()
    assert main([str(LENET), "-q", "-o", str(tmp_path / "late")]) == 0
    assert held.begun
    assert package_digest(tmp_path / "late") == package_digest(tmp_path / "at_once")


def test_an_error_while_compiling_is_one_line_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: None, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError("no room for a matrix")

    monkeypatch.setattr(array_layout, "_lay_out", fail)
    assert main([str(LENET), "-q", "-o", str(tmp_path / "out")]) == 70
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert "no room for a matrix" in line
    assert not list(tmp_path.iterdir())
