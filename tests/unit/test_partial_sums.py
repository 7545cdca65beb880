"""Sums of slices: k products have k - 1 of them, and none adds what another has added."""

from __future__ import annotations

import pytest
from compilation import lower
from guard_programs import parsed
from odd_models import Graph
from tilec.lowering.proxies import proxies

ONE = "tensor<1x3xf32>"
PRODUCTS = f"""%a = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<1x2xf32>
    %b = spat.view %rows row 0 start 2 step 2 : tensor<1x4x2xf32> -> tensor<1x2xf32>
    %c = spat.view %rows row 0 start 4 step 2 : tensor<1x4x2xf32> -> tensor<1x2xf32>
    %p = spat.vmm %a, %w row 0 : tensor<1x2xf32>, tensor<6x3xf32> -> {ONE}
    %q = spat.vmm %b, %w row 2 : tensor<1x2xf32>, tensor<6x3xf32> -> {ONE}
    %r = spat.vmm %c, %w row 4 : tensor<1x2xf32>, tensor<6x3xf32> -> {ONE}
    """
BATCH = """
func.func @main() {{
  %x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
  %m = spat.constant <f32[6, 3] splat 0.5> : tensor<6x3xf32>
  %y = spat.compute_batch lanes 4 ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>]
      weights(%m : tensor<6x3xf32>) -> tensor<4x1x3xf32> {{
  ^bb0(%rows: tensor<1x4x2xf32>, %w: tensor<6x3xf32>):
    {body}
  }}
  {more}
  func.return
}}
"""


def sums(*pairs: str) -> str:
    """Sums of the values that each pair of letters names; they are called s0, s1 ..."""
    lines = [
        f"%s{i} = spat.vadd %{one}, %{two} : {ONE}, {ONE} -> {ONE}"
        for i, (one, _, two) in enumerate(pair.partition("+") for pair in pairs)
    ]
    return PRODUCTS + "\n".join((*lines, f"spat.yield %s{len(pairs) - 1} : {ONE}"))


@pytest.mark.parametrize(
    ("body", "added", "again"),
    [
        (sums("p+q", "s0+r"), 2, 0),
        # Both associations: two of the products are added twice; the sums that add them are not alike.
        (sums("p+q", "s0+r", "q+r", "p+s2", "s1+s3"), 5, 3),
        (sums("p+p"), 1, 1),
    ],
)
def test_what_sums_add(body: str, added: int, again: int) -> None:
    found = proxies(parsed(BATCH.format(body=body, more="")))
    assert dict(found.partial_sums or ()).get("<unnamed>", 0) == 4 * 3 * added
    assert dict(found.added_again or ()).get("<unnamed>", 0) == 4 * 3 * again


def reader(name: str) -> str:
    """A batch that adds a tensor of products to itself."""
    tensors, windows = ", ".join(["tensor<4x1x3xf32>"] * 2), ", ".join(["#spat.window<height 4, lanes 4>"] * 2)
    return f"""
  %{name} = spat.compute_batch lanes 4 ins(%y, %y : {tensors}) windows [{windows}] -> tensor<4x1x3xf32> {{
  ^bb0(%one: tensor<1x1x3xf32>, %two: tensor<1x1x3xf32>):
    %0 = spat.view %one row 0 start 0 step 3 : tensor<1x1x3xf32> -> {ONE}
    %1 = spat.view %two row 0 start 0 step 3 : tensor<1x1x3xf32> -> {ONE}
    %2 = spat.vadd %0, %1 : {ONE}, {ONE} -> {ONE}
    spat.yield %2 : {ONE}
  }}"""


def test_what_sums_of_two_batches_add() -> None:
    """A row of products that two batches add, or one batch twice, is added again by the second."""
    product = PRODUCTS + f"spat.yield %p : {ONE}"
    twice = proxies(parsed(BATCH.format(body=product, more=reader("z"))))
    assert (twice.partial_sums, twice.added_again) == ((("<unnamed>", 12),), (("<unnamed>", 12),))
    two = reader("z") + reader("other")
    assert proxies(parsed(BATCH.format(body=product, more=two))).added_again == (("<unnamed>", 12 + 24),)


def test_a_layer_of_which_few_channels_are_read() -> None:
    """It is cut into slices and parts, some of which nobody reads, behind a sum with another layer."""
    graph = Graph(1, 50, 3, 1)
    wide = graph.conv("x", 50, 400, 1)
    both = graph.add("Relu", graph.add("Add", graph.conv(wide, 400, 400, 1), wide))
    ends = [graph.constant([value]) for value in (0, 3, 1, 1)]
    lower(graph.model(graph.add("Slice", both, *ends)))
