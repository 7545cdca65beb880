"""Work in threads: it goes on beside the caller, and gives the same as without."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilec.codegen.background_hash import background_hash
from tilec.support.background import Background
from tilec.tools import compile_driver


def test_the_caller_goes_on_meanwhile() -> None:
    told = threading.Event()

    def work() -> str:
        assert told.wait(30)
        return "done"

    one = Background(work)
    told.set()
    assert one.result() == "done"
    assert one.result() == "done"


def test_an_error_of_the_work_is_raised_where_its_result_is_asked_for() -> None:
    def work() -> int:
        raise OSError(5, "broken")

    one = Background(work)
    one.wait()
    with pytest.raises(OSError, match="broken"):
        one.result()


@settings(deadline=None, max_examples=30)
@given(st.lists(st.binary(max_size=300), max_size=60))
def test_the_hash_is_that_of_all_pieces_in_order(pieces: list[bytes]) -> None:
    with background_hash() as hashing:
        for piece in pieces:
            hashing.update(np.frombuffer(piece, np.uint8).data)
        assert hashing.hexdigest() == hashlib.sha256(b"".join(pieces)).hexdigest()


def test_its_thread_ends_with_the_context() -> None:
    before = threading.active_count()

    def fail() -> None:
        with background_hash() as hashing:
            hashing.update(b"abc")
            raise ValueError("elsewhere")

    with pytest.raises(ValueError, match="elsewhere"):
        fail()
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and thread.daemon:
            thread.join(30)
    assert threading.active_count() <= before


@pytest.mark.parametrize("size", [0, 1, 9, 10, 11, 35])
def test_a_file_is_hashed_in_pieces(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_driver, "_HASHED_BYTES", 10)
    content = bytes(range(size))
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    found = compile_driver._hash(path)  # pyright: ignore[reportPrivateUsage]
    assert found == compile_driver._hash(content) == hashlib.sha256(content).hexdigest()  # pyright: ignore[reportPrivateUsage]
