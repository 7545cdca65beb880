// RUN: tile-opt %s -p spat-realize-communication | filecheck %s
// RUN: tile-opt %s -p spat-realize-communication,spat-realize-communication | filecheck %s
// RUN: tile-opt %s -p spat-realize-communication --pass-statistics 2>&1 | filecheck %s --check-prefix STATISTICS

// STATISTICS: 1 messages

builtin.module attributes {tile.machine = "tiny4"} {
  func.func @main() {
    %x = spat.input "x" shape <i64[4] [1, 2, 2, 2]> : tensor<2x2x2xf32>
    // Inputs are loaded, not sent.
    // CHECK: [[X:%.*]] = spat.deferred_communication %x needs <i64[2, 2] [0, 0, 1, 1]> : tensor<2x2x2xf32>
    %here = spat.deferred_communication %x needs <i64[2, 2] [0, 0, 1, 1]> : tensor<2x2x2xf32>
    %y = spat.scheduled_compute_batch lanes 2 replicas 2 cores <i32[2] [0, 1]> steps <i64[2] [0, 1000]> ins(%here : tensor<2x2x2xf32>) windows [#spat.window<height 2, lanes 2>] -> tensor<2x2x2xf32> {
    ^bb0(%rows: tensor<1x2x2xf32>):
      %row = spat.view %rows row 0 start 0 step 2 : tensor<1x2x2xf32> -> tensor<2x2xf32>
      spat.yield %row : tensor<2x2xf32>
    }
    // One message: row 0 from core 0 to core 1, after it is computed and before it is read.
    // CHECK: [[C:%.*]] = spat.channel_send %y messages <i64[1, 4] [0, 0, 1, {{[0-9]+}}]> : tensor<2x2x2xf32>
    // CHECK-NEXT: [[Y:%.*]] = spat.channel_receive %y from [[C]] : tensor<2x2x2xf32>
    %there = spat.deferred_communication %y needs <i64[1, 2] [0, 1]> : tensor<2x2x2xf32>
    // CHECK-NEXT: spat.scheduled_compute_batch {{.*}} ins([[Y]] : tensor<2x2x2xf32>)
    %z = spat.scheduled_compute_batch lanes 1 cores <i32[1] [1]> steps <i64[1] [2000]> ins(%there : tensor<2x2x2xf32>) windows [#spat.window<height 2, lanes 1, rows 2>] -> tensor<1x2x2xf32> {
    ^bb0(%rows: tensor<2x2x2xf32>):
      %0 = spat.reduce_rows "max" %rows : tensor<2x2x2xf32> -> tensor<2x2xf32>
      spat.yield %0 : tensor<2x2xf32>
    }
    spat.output "z" shape <i64[4] [1, 2, 1, 2]> channels [#tile.array<i32[2] [0, 1]>] %z : tensor<1x2x2xf32>
    func.return
  }
}
