// RUN: tile-opt %s -p spat-defer-communication | filecheck %s
// RUN: tile-opt %s -p spat-defer-communication --pass-statistics 2>&1 | filecheck %s --check-prefix STATISTICS

// STATISTICS: 4 rows needed elsewhere

func.func @main() {
  // Every row of an input is needed somewhere; a core that reads it in two batches needs it once.
  // CHECK: %x = spat.input
  // CHECK-NEXT: [[X:%.*]] = spat.deferred_communication %x needs <i64[2, 2] [0, 0, 1, 1]> : tensor<2x2x2xf32>
  %x = spat.input "x" shape <i64[4] [1, 2, 2, 2]> : tensor<2x2x2xf32>
  // CHECK-NEXT: %y = spat.scheduled_compute_batch {{.*}} ins([[X]] : tensor<2x2x2xf32>)
  %y = spat.scheduled_compute_batch lanes 2 replicas 2 cores <i32[2] [0, 1]> steps <i64[2] [0, 1]> ins(%x : tensor<2x2x2xf32>) windows [#spat.window<height 2, lanes 2>] -> tensor<2x2x2xf32> {
  ^bb0(%rows: tensor<1x2x2xf32>):
    %row = spat.view %rows row 0 start 0 step 2 : tensor<1x2x2xf32> -> tensor<2x2xf32>
    spat.yield %row : tensor<2x2xf32>
  }
  // Of a computed tensor, only the rows that other cores read: core 1 computes row 1 itself.
  // CHECK: [[Y:%.*]] = spat.deferred_communication %y needs <i64[2, 2] [0, 1, 1, 3]> : tensor<2x2x2xf32>
  // CHECK: %z = spat.scheduled_compute_batch {{.*}} ins([[X]], [[Y]] : tensor<2x2x2xf32>, tensor<2x2x2xf32>)
  %z = spat.scheduled_compute_batch lanes 2 replicas 2 cores <i32[2] [0, 1]> steps <i64[2] [2, 3]> ins(%x, %y : tensor<2x2x2xf32>, tensor<2x2x2xf32>) windows [#spat.window<height 2, lanes 2>, #spat.window<height 2, lanes 2, rows 2, pad_top 1>] -> tensor<2x2x2xf32> {
  ^bb0(%rows: tensor<1x2x2xf32>, %more: tensor<2x2x2xf32>):
    %0 = spat.reduce_rows "max" %more : tensor<2x2x2xf32> -> tensor<2x2xf32>
    spat.yield %0 : tensor<2x2xf32>
  }
  // CHECK: %a = spat.scheduled_compute_batch {{.*}} ins([[Y]] : tensor<2x2x2xf32>)
  %a = spat.scheduled_compute_batch lanes 1 cores <i32[1] [3]> steps <i64[1] [4]> ins(%y : tensor<2x2x2xf32>) windows [#spat.window<height 2, lanes 1, pad_top -1>] -> tensor<1x2x2xf32> {
  ^bb0(%rows: tensor<1x2x2xf32>):
    %row = spat.view %rows row 0 start 0 step 2 : tensor<1x2x2xf32> -> tensor<2x2xf32>
    spat.yield %row : tensor<2x2xf32>
  }
  // Outputs are stored by the core that computes them. Nothing else reads %z, so that nothing has to travel.
  // CHECK-NOT: spat.deferred_communication
  // CHECK: spat.output "y" {{.*}} %y : tensor<2x2x2xf32>
  spat.output "y" shape <i64[4] [1, 2, 2, 2]> channels [#tile.array<i32[2] [0, 1]>] %y : tensor<2x2x2xf32>
  spat.output "z" shape <i64[4] [1, 2, 2, 2]> channels [#tile.array<i32[2] [0, 1]>] %z : tensor<2x2x2xf32>
  func.return
}
