"""`#tile.array`: text, identity and resources."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tilec.dialects import array_data, array_layout, tile
from tilec.dialects.tile import ArrayAttr, collect_resources, inline_limit, load_resources, save_resources
from tilec.support.diagnostics import TileError
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr as BuiltinArrayAttr
from xdsl.dialects.builtin import Builtin, DictionaryAttr, ModuleOp
from xdsl.dialects.test import TestOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError


@pytest.fixture(autouse=True)
def _no_resources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_data, "_resources", {})


def parse(text: str) -> ArrayAttr:
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(tile.Tile)
    attribute = Parser(context, text).parse_attribute()
    assert isinstance(attribute, ArrayAttr)
    return attribute


def same_bits(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> bool:
    return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()


ARRAYS = st.sampled_from(sorted(tile.DTYPES)).flatmap(
    lambda name: hnp.arrays(tile.DTYPES[name], hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
)


@settings(max_examples=150, deadline=None)
@given(ARRAYS)
def test_text_keeps_every_bit(array: np.ndarray[Any, Any]) -> None:
    attribute = ArrayAttr.get(array)
    read = parse(str(attribute))
    assert read == attribute
    assert hash(read) == hash(attribute)
    assert same_bits(read.array, array)
    assert str(read) == str(attribute)


def test_get_takes_its_array_over() -> None:
    """Nobody writes to it any more: whoever has looked at the attribute would not find out."""
    whole = np.arange(8.0, dtype=np.float32)
    array = whole[2:]
    attribute = ArrayAttr.get(array)
    assert np.shares_memory(attribute.array, array)
    for one in (attribute.array, array, whole):
        with pytest.raises(ValueError, match="read-only"):
            one[2] = 1
    assert ArrayAttr.get(attribute) is attribute


def test_layout_and_byte_order_do_not_matter() -> None:
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    assert ArrayAttr.get(np.asfortranarray(array)) == ArrayAttr.get(array)
    assert ArrayAttr.get(array.astype(">i4")) == ArrayAttr.get(array)
    assert ArrayAttr.get(array.astype(np.int64)) != ArrayAttr.get(array)
    assert ArrayAttr.get(array.reshape(3, 2)) != ArrayAttr.get(array)


TURNED = (((0, 1), (0, 1)), ((1, 0), (1, 0)), ((2, 3, 1, 0), (3, 2, 0, 1)), ((3, 0, 2, 1), (1, 3, 2, 0)))
"""Orders of axes, and what undoes them."""


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(TURNED), st.lists(st.integers(1, 40), min_size=4, max_size=4), st.sampled_from(["<f4", "i1"]))
def test_copies_in_strips_by_one_thread_or_two_are_copies(
    turned: tuple[tuple[int, ...], tuple[int, ...]], extents: list[int], dtype: str
) -> None:
    order, back = turned
    shape = extents[: len(order)]
    array = np.arange(np.prod(shape)).astype(dtype).reshape(shape)
    with pytest.MonkeyPatch.context() as patch:
        for shared in (1, 1 << 30):
            patch.setattr(array_layout, "_LARGE", 2)
            patch.setattr(array_layout, "_SHARED", shared)
            found = array_layout.contiguous(array.transpose(order))
            assert found.flags.c_contiguous
            assert same_bits(np.ascontiguousarray(found.transpose(back)), array)


def test_rows_of_a_large_transposed_matrix_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    array = np.arange(60, dtype=np.float32).reshape(6, 10)
    expected = ArrayAttr.get(np.ascontiguousarray(array.T[2:7]))
    monkeypatch.setattr(array_layout, "_LARGE", 30)
    attribute = ArrayAttr.get(array.T[2:7])
    assert np.shares_memory(attribute.array, array)
    assert attribute == expected
    assert attribute.data.sample == expected.data.sample


def test_negative_zero_is_another_array() -> None:
    assert ArrayAttr.get(np.array([0.0])) != ArrayAttr.get(np.array([-0.0]))
    assert str(ArrayAttr.get(np.array([0.0, -0.0]))) == "#tile.array<f64[2] [0.0, -0.0]>"


def test_types() -> None:
    assert str(ArrayAttr.get(np.zeros((2, 3), np.uint8)).tensor_type) == "tensor<2x3xui8>"
    assert str(ArrayAttr.get(np.zeros((), np.bool_)).tensor_type) == "tensor<i1>"
    for dtype in tile.DTYPES.values():
        element = tile.element_type_of(dtype)
        assert element is not None
        assert tile.dtype_of(element) == dtype


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#tile.array<f33[1] [1.0]>", "unknown element type 'f33'"),
        ("#tile.array<f32[2] [1.0]>", "has 2 elements, 1 given"),
        ("#tile.array<i8[1] [128]>", "128 does not fit into i8"),
        ("#tile.array<u8[1] [-1]>", "-1 does not fit into u8"),
        ("#tile.array<f32[1] [0x7FC000011]>", "bit pattern does not fit into f32"),
        ("#tile.array<f32[-1] []>", "Expected"),
        ("#tile.array<i1[1] [1]>", "Expected boolean"),
        ("#tile.array<f32[99999999999999] splat 0.0>", "is larger than"),
        ('#tile.array<f32[99999999999999999999] @"ab">', "less than 2\\^63"),
        ('#tile.array<f32[1] @"">', "empty digest"),
        ("#tile.array<f32[1]>", "Delimiter|Expected|expected"),
    ],
)
def test_bad_text(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse(text)


def test_large_text_names_the_digest_and_needs_resources(tmp_path: Path) -> None:
    array = np.random.default_rng(0).standard_normal((64, 3)).astype(np.float32)
    attribute = ArrayAttr.get(array)
    text = str(attribute)
    assert text == f'#tile.array<f32[64, 3] @"{attribute.digest}">'

    read = parse(text)
    assert not read.has_data
    assert read == attribute
    assert str(read) == text
    with pytest.raises(TileError, match=f"{attribute.digest}.*--resources FILE.npz"):
        _ = read.array

    path = tmp_path / "weights.npz"
    save_resources(ModuleOp([TestOp(attributes={"value": attribute})]), path)
    load_resources(path)
    assert same_bits(read.array, array)
    assert same_bits(parse(text).array, array)
    assert str(read) == text


def test_inline_limit() -> None:
    attribute = ArrayAttr.get(np.arange(4))
    with inline_limit(3):
        assert str(attribute) == f'#tile.array<i64[4] @"{attribute.digest}">'
    assert str(attribute) == "#tile.array<i64[4] [0, 1, 2, 3]>"


def test_resources_are_found_in_nested_attributes_once_and_only_when_elided(tmp_path: Path) -> None:
    big = ArrayAttr.get(np.arange(100))
    small = ArrayAttr.get(np.arange(3))
    splat = ArrayAttr.get(np.zeros(1000))
    nested = BuiltinArrayAttr([big, DictionaryAttr({"a": ArrayAttr.get(np.arange(100.0)), "s": small})])
    module = ModuleOp([TestOp(attributes={"n": nested}), TestOp(properties={"prop1": big}, attributes={"s": splat})])
    assert set(collect_resources(module)) == {big.digest, ArrayAttr.get(np.arange(100.0)).digest}

    first, second = tmp_path / "a.npz", tmp_path / "b.npz"
    save_resources(module, first)
    save_resources(module, second)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x03\x04 truncated"])
def test_bad_resource_files(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "weights.npz"
    path.write_bytes(content)
    with pytest.raises(TileError, match="cannot read resources"):
        load_resources(path)


def test_resources_that_lie(tmp_path: Path) -> None:
    path = tmp_path / "weights.npz"
    np.savez(path, **{"0123": np.arange(3)})
    with pytest.raises(TileError, match='resource "0123" does not match its digest'):
        load_resources(path)
    np.savez(path, **{"0123": np.array([object()])})
    with pytest.raises(TileError, match="cannot read resources"):
        load_resources(path)
    with pytest.raises(TileError, match="cannot read resources"):
        load_resources(tmp_path / "missing.npz")


def test_text_that_disagrees_with_the_resource(tmp_path: Path) -> None:
    attribute = ArrayAttr.get(np.arange(100))
    path = tmp_path / "weights.npz"
    save_resources(ModuleOp([TestOp(attributes={"value": attribute})]), path)
    load_resources(path)
    read = parse(f'#tile.array<i64[10] @"{attribute.digest}">')
    with pytest.raises(TileError, match="correct the text"):
        _ = read.array
    str(read)


def test_pickle() -> None:
    attribute = ArrayAttr.get(np.arange(4))
    assert pickle.loads(pickle.dumps(attribute)) == attribute
