// RUN: tile-opt %s -p spat-merge-graph --split-input-file | filecheck %s

// A product is not fused into a sum whose other operand comes from elsewhere: it would wait for that, too.
// CHECK: [[A:%.*]] = spat.input "a"
// CHECK: [[B:%.*]] = spat.input "b"
// CHECK: [[P:%.*]] = spat.compute_batch lanes 4 ins([[A]] : tensor<4x4x2xf32>)
// CHECK: spat.vmm
// CHECK: [[Q:%.*]] = spat.compute_batch lanes 4 ins([[B]] : tensor<4x4x2xf32>)
// CHECK: spat.vmm
// CHECK: spat.compute_batch lanes 4 ins([[P]], [[Q]] : tensor<4x4x2xf32>, tensor<4x4x2xf32>)
// CHECK: spat.vadd
func.func @main() {
  %a = spat.input "a" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
  %b = spat.input "b" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
  %w = spat.constant <f32[2, 2] splat 0.5> : tensor<2x2xf32>
  %p = spat.compute_batch lanes 4 ins(%a : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] weights(%w : tensor<2x2xf32>) -> tensor<4x4x2xf32> {
  ^bb0(%rows: tensor<1x4x2xf32>, %m: tensor<2x2xf32>):
    %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
    %0 = spat.vmm %row, %m row 0 : tensor<4x2xf32>, tensor<2x2xf32> -> tensor<4x2xf32>
    spat.yield %0 : tensor<4x2xf32>
  }
  %q = spat.compute_batch lanes 4 ins(%b : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] weights(%w : tensor<2x2xf32>) -> tensor<4x4x2xf32> {
  ^bb0(%rows: tensor<1x4x2xf32>, %m: tensor<2x2xf32>):
    %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
    %0 = spat.vmm %row, %m row 0 : tensor<4x2xf32>, tensor<2x2xf32> -> tensor<4x2xf32>
    spat.yield %0 : tensor<4x2xf32>
  }
  %s = spat.compute_batch lanes 4 ins(%p, %q : tensor<4x4x2xf32>, tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>, #spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
  ^bb0(%one: tensor<1x4x2xf32>, %other: tensor<1x4x2xf32>):
    %0 = spat.view %one row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
    %1 = spat.view %other row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
    %2 = spat.vadd %0, %1 : tensor<4x2xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
    spat.yield %2 : tensor<4x2xf32>
  }
  spat.output "s" shape <i64[4] [1, 2, 4, 4]> channels [#tile.array<i32[2] [0, 1]>] %s : tensor<4x4x2xf32>
  func.return
}

// -----

// It is if the product needs that operand itself, here through the batch that it reads.
// CHECK: [[A:%.*]] = spat.input "a"
// CHECK: [[R:%.*]] = spat.compute_batch lanes 4 ins([[A]] : tensor<4x4x2xf32>)
// CHECK: spat.compute_batch lanes 4 ins([[R]], [[A]] : tensor<4x4x2xf32>, tensor<4x4x2xf32>)
// CHECK: spat.vmm
// CHECK: spat.vadd
// CHECK-NOT: spat.compute_batch
func.func @main() {
  %a = spat.input "a" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
  %w = spat.constant <f32[2, 2] splat 0.5> : tensor<2x2xf32>
  %r = spat.compute_batch lanes 4 ins(%a : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] weights(%w : tensor<2x2xf32>) -> tensor<4x4x2xf32> {
  ^bb0(%rows: tensor<1x4x2xf32>, %m: tensor<2x2xf32>):
    %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
    %0 = spat.vmm %row, %m row 0 : tensor<4x2xf32>, tensor<2x2xf32> -> tensor<4x2xf32>
    spat.yield %0 : tensor<4x2xf32>
  }
  %p = spat.compute_batch lanes 4 ins(%r : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] weights(%w : tensor<2x2xf32>) -> tensor<4x4x2xf32> {
  ^bb0(%rows: tensor<1x4x2xf32>, %m: tensor<2x2xf32>):
    %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
    %0 = spat.vmm %row, %m row 0 : tensor<4x2xf32>, tensor<2x2xf32> -> tensor<4x2xf32>
    spat.yield %0 : tensor<4x2xf32>
  }
  %s = spat.compute_batch lanes 4 ins(%p, %a : tensor<4x4x2xf32>, tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>, #spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
  ^bb0(%one: tensor<1x4x2xf32>, %other: tensor<1x4x2xf32>):
    %0 = spat.view %one row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
    %1 = spat.view %other row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
    %2 = spat.vadd %0, %1 : tensor<4x2xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
    spat.yield %2 : tensor<4x2xf32>
  }
  spat.output "s" shape <i64[4] [1, 2, 4, 4]> channels [#tile.array<i32[2] [0, 1]>] %s : tensor<4x4x2xf32>
  func.return
}

// -----

// So is an activation that waits no longer than its message would take: 56 cycles against 72.
// CHECK: [[A:%.*]] = spat.input "a"
// CHECK: [[Q:%.*]] = spat.compute_batch lanes 4
// CHECK: spat.vmm
// CHECK: spat.compute_batch lanes 4 ins([[A]], [[Q]] : tensor<4x4x2xf32>, tensor<4x4x2xf32>)
// CHECK: spat.relu
// CHECK: spat.vadd
// CHECK-NOT: spat.compute_batch
func.func @main() {
  %a = spat.input "a" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
  %b = spat.input "b" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
  %w = spat.constant <f32[2, 2] splat 0.5> : tensor<2x2xf32>
  %p = spat.compute_batch lanes 4 ins(%a : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
  ^bb0(%rows: tensor<1x4x2xf32>):
    %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
    %0 = spat.relu %row : tensor<4x2xf32>
    spat.yield %0 : tensor<4x2xf32>
  }
  %q = spat.compute_batch lanes 4 ins(%b : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] weights(%w : tensor<2x2xf32>) -> tensor<4x4x2xf32> {
  ^bb0(%rows: tensor<1x4x2xf32>, %m: tensor<2x2xf32>):
    %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
    %0 = spat.vmm %row, %m row 0 : tensor<4x2xf32>, tensor<2x2xf32> -> tensor<4x2xf32>
    spat.yield %0 : tensor<4x2xf32>
  }
  %s = spat.compute_batch lanes 4 ins(%p, %q : tensor<4x4x2xf32>, tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>, #spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
  ^bb0(%one: tensor<1x4x2xf32>, %other: tensor<1x4x2xf32>):
    %0 = spat.view %one row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
    %1 = spat.view %other row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
    %2 = spat.vadd %0, %1 : tensor<4x2xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
    spat.yield %2 : tensor<4x2xf32>
  }
  spat.output "s" shape <i64[4] [1, 2, 4, 4]> channels [#tile.array<i32[2] [0, 1]>] %s : tensor<4x4x2xf32>
  func.return
}

// -----

// Two sums, of 76 cycles each, do not wait: they begin with the product.
// CHECK: [[A:%.*]] = spat.input "a"
// CHECK: [[P:%.*]] = spat.compute_batch lanes 4 ins([[A]] : tensor<4x4x2xf32>)
// CHECK: spat.vadd
// CHECK: [[Q:%.*]] = spat.compute_batch lanes 4
// CHECK: spat.vmm
// CHECK: spat.compute_batch lanes 4 ins([[P]], [[Q]] : tensor<4x4x2xf32>, tensor<4x4x2xf32>)
func.func @main() {
  %a = spat.input "a" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
  %b = spat.input "b" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
  %w = spat.constant <f32[2, 2] splat 0.5> : tensor<2x2xf32>
  %p = spat.compute_batch lanes 4 ins(%a : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
  ^bb0(%rows: tensor<1x4x2xf32>):
    %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
    %0 = spat.vadd %row, %row : tensor<4x2xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
    %1 = spat.vadd %0, %row : tensor<4x2xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
    spat.yield %1 : tensor<4x2xf32>
  }
  %q = spat.compute_batch lanes 4 ins(%b : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] weights(%w : tensor<2x2xf32>) -> tensor<4x4x2xf32> {
  ^bb0(%rows: tensor<1x4x2xf32>, %m: tensor<2x2xf32>):
    %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
    %0 = spat.vmm %row, %m row 0 : tensor<4x2xf32>, tensor<2x2xf32> -> tensor<4x2xf32>
    spat.yield %0 : tensor<4x2xf32>
  }
  %s = spat.compute_batch lanes 4 ins(%p, %q : tensor<4x4x2xf32>, tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>, #spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
  ^bb0(%one: tensor<1x4x2xf32>, %other: tensor<1x4x2xf32>):
    %0 = spat.view %one row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
    %1 = spat.view %other row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
    %2 = spat.vadd %0, %1 : tensor<4x2xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
    spat.yield %2 : tensor<4x2xf32>
  }
  spat.output "s" shape <i64[4] [1, 2, 4, 4]> channels [#tile.array<i32[2] [0, 1]>] %s : tensor<4x4x2xf32>
  func.return
}
