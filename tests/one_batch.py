"""The text of a program of one batch, whose body is to be filled in."""

from __future__ import annotations

_STORED = 'spat.output "y" shape <i64[4] [1, 2, 4, 4]> channels [#tile.array<i32[2] [0, 1]>] %y : tensor<4x4x2xf32>'


def one_batch(body: str, readers: str = _STORED) -> str:
    """A function whose batch computes `%y`, `tensor<4x4x2xf32>`, of which a lane has `%row`, `tensor<4x2xf32>`, of the
    input; ``body`` ends with what it yields."""
    return f"""
func.func @main() {{
  %x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
  %y = spat.compute_batch lanes 4 ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>]
      -> tensor<4x4x2xf32> {{
  ^bb0(%rows: tensor<1x4x2xf32>):
    %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
    {body}
  }}
  {readers}
  func.return
}}
"""
