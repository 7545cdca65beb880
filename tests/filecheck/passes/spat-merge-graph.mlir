// RUN: tile-opt %s -p spat-merge-graph | filecheck %s
// RUN: tile-opt %s -p spat-merge-graph,spat-merge-graph | filecheck %s
// RUN: tile-opt %s -p spat-merge-graph --pass-statistics 2>&1 | filecheck %s --check-prefix STATISTICS

// STATISTICS: 3 batches fused

func.func @main() {
  // CHECK: [[X:%.*]] = spat.input
  %x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
  // CHECK-NEXT: [[W:%.*]] = spat.constant <f32[2, 2] splat 0.5>
  %w = spat.constant <f32[2, 2] splat 0.5> : tensor<2x2xf32>
  // CHECK-NEXT: [[B:%.*]] = spat.constant <f32[1, 2] splat 1.0>
  %b = spat.constant <f32[1, 2] splat 1.0> : tensor<1x2xf32>

  // Product, bias and activation become one batch, with the replicas of the weights.
  // CHECK-NEXT: [[Y:%.*]] = spat.compute_batch lanes 4 replicas 2 ins([[X]] : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] weights([[W]], [[B]] : tensor<2x2xf32>, tensor<1x2xf32>) -> tensor<4x4x2xf32> {
  // CHECK-NEXT: ^{{.*}}([[ROWS:%.*]]: tensor<1x4x2xf32>, [[M:%.*]]: tensor<2x2xf32>, [[C:%.*]]: tensor<1x2xf32>):
  // CHECK-NEXT:   [[ROW:%.*]] = spat.view [[ROWS]] row 0 start 0 step 2
  // CHECK-NEXT:   [[P:%.*]] = spat.vmm [[ROW]], [[M]] row 0
  // CHECK-NEXT:   [[S:%.*]] = spat.vadd [[P]], [[C]]
  // CHECK-NEXT:   [[R:%.*]] = spat.relu [[S]]
  // CHECK-NEXT:   spat.yield [[R]]
  %p = spat.compute_batch lanes 4 replicas 2 ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] weights(%w : tensor<2x2xf32>) -> tensor<4x4x2xf32> {
  ^bb0(%rows: tensor<1x4x2xf32>, %m: tensor<2x2xf32>):
    %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
    %0 = spat.vmm %row, %m row 0 : tensor<4x2xf32>, tensor<2x2xf32> -> tensor<4x2xf32>
    spat.yield %0 : tensor<4x2xf32>
  }
  %s = spat.compute_batch lanes 4 ins(%p : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] weights(%b : tensor<1x2xf32>) -> tensor<4x4x2xf32> {
  ^bb0(%rows: tensor<1x4x2xf32>, %c: tensor<1x2xf32>):
    %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
    %0 = spat.vadd %row, %c : tensor<4x2xf32>, tensor<1x2xf32> -> tensor<4x2xf32>
    spat.yield %0 : tensor<4x2xf32>
  }
  %y = spat.compute_batch lanes 4 ins(%s : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
  ^bb0(%rows: tensor<1x4x2xf32>):
    %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
    %0 = spat.relu %row : tensor<4x2xf32>
    spat.yield %0 : tensor<4x2xf32>
  }

  // Two batches with weights stay apart.
  // CHECK: [[Z:%.*]] = spat.compute_batch lanes 4 ins([[Y]] : tensor<4x4x2xf32>)
  %z = spat.compute_batch lanes 4 ins(%y : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] weights(%w : tensor<2x2xf32>) -> tensor<4x4x2xf32> {
  ^bb0(%rows: tensor<1x4x2xf32>, %m: tensor<2x2xf32>):
    %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
    %0 = spat.vmm %row, %m row 0 : tensor<4x2xf32>, tensor<2x2xf32> -> tensor<4x2xf32>
    spat.yield %0 : tensor<4x2xf32>
  }

  // A batch that reads several rows stays apart, and so does one whose result has two readers.
  // CHECK: [[A:%.*]] = spat.compute_batch lanes 4 ins([[Z]] : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4, rows 3, pad_top 1>]
  %a = spat.compute_batch lanes 4 ins(%z : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4, rows 3, pad_top 1>] -> tensor<4x4x2xf32> {
  ^bb0(%rows: tensor<3x4x2xf32>):
    %0 = spat.reduce_rows "max" %rows : tensor<3x4x2xf32> -> tensor<4x2xf32>
    spat.yield %0 : tensor<4x2xf32>
  }
  // CHECK: spat.output "a" {{.*}} [[A]]
  spat.output "a" shape <i64[4] [1, 2, 4, 4]> channels [#tile.array<i32[2] [0, 1]>] %a : tensor<4x4x2xf32>

  // A reduction of one row is that row.
  // CHECK: spat.compute_batch lanes 4 ins([[A]] : tensor<4x4x2xf32>)
  // CHECK: [[T:%.*]] = spat.tanh
  // CHECK-NEXT: [[G:%.*]] = spat.sigmoid [[T]]
  // CHECK-NEXT: spat.yield [[G]]
  %t = spat.compute_batch lanes 4 ins(%a : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
  ^bb0(%rows: tensor<1x4x2xf32>):
    %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
    %0 = spat.tanh %row : tensor<4x2xf32>
    spat.yield %0 : tensor<4x2xf32>
  }
  %g = spat.compute_batch lanes 4 ins(%t : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
  ^bb0(%rows: tensor<1x4x2xf32>):
    %0 = spat.reduce_rows "add" %rows : tensor<1x4x2xf32> -> tensor<4x2xf32>
    %1 = spat.sigmoid %0 : tensor<4x2xf32>
    spat.yield %1 : tensor<4x2xf32>
  }
  spat.output "g" shape <i64[4] [1, 2, 4, 4]> channels [#tile.array<i32[2] [0, 1]>] %g : tensor<4x4x2xf32>
  func.return
}
