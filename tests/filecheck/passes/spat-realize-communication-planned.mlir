// RUN: tile-opt %s -p spat-realize-communication | filecheck %s

// Rows are sent at the steps that the schedule has planned, if they are there by then and not read yet; others as soon as
// they are computed.
builtin.module attributes {tile.machine = "tiny4"} {
  func.func @main() {
    %x = spat.input "x" shape <i64[4] [1, 2, 3, 2]> : tensor<3x2x2xf32>
    %here = spat.deferred_communication %x needs <i64[3, 2] [0, 0, 1, 0, 2, 0]> : tensor<3x2x2xf32>
    %y = spat.scheduled_compute_batch lanes 3 cores <i32[1] [0]> steps <i64[3] [0, 100, 200]> spans <i64[3] splat 50> sends <i64[3, 3] [0, 1, 700, 1, 1, 149, 2, 1, 2000]> ins(%here : tensor<3x2x2xf32>) windows [#spat.window<height 3, lanes 3>] -> tensor<3x2x2xf32> {
    ^bb0(%rows: tensor<1x2x2xf32>):
      %row = spat.view %rows row 0 start 0 step 2 : tensor<1x2x2xf32> -> tensor<2x2xf32>
      spat.yield %row : tensor<2x2xf32>
    }
    // Row 1 may go in the step that ends its lane. Row 2 would come too late.
    // CHECK: spat.channel_send %y messages <i64[3, 4] [1, 0, 1, 149, 2, 0, 1, 249, 0, 0, 1, 700]> : tensor<3x2x2xf32>
    %there = spat.deferred_communication %y needs <i64[3, 2] [0, 1, 1, 1, 2, 1]> : tensor<3x2x2xf32>
    %z = spat.scheduled_compute_batch lanes 1 cores <i32[1] [1]> steps <i64[1] [2000]> ins(%there : tensor<3x2x2xf32>) windows [#spat.window<height 3, lanes 1, rows 3>] -> tensor<1x2x2xf32> {
    ^bb0(%rows: tensor<3x2x2xf32>):
      %0 = spat.reduce_rows "max" %rows : tensor<3x2x2xf32> -> tensor<2x2xf32>
      spat.yield %0 : tensor<2x2xf32>
    }
    spat.output "z" shape <i64[4] [1, 2, 1, 2]> channels [#tile.array<i32[2] [0, 1]>] %z : tensor<1x2x2xf32>
    func.return
  }
}
