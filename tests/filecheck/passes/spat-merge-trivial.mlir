// RUN: tile-opt %s -p spat-merge-trivial | filecheck %s
// RUN: tile-opt %s -p spat-merge-trivial,spat-merge-trivial | filecheck %s
// RUN: tile-opt %s -p spat-merge-trivial --pass-statistics 2>&1 | filecheck %s --check-prefix STATISTICS

// STATISTICS: 1 constants shared
// STATISTICS-NEXT: 4 ops folded
// STATISTICS-NEXT: 1 batches shared
// STATISTICS-NEXT: 5 ops erased

// Additions of zero and products with one vanish, constants in a row become one, a second relu vanishes; equal constants
// are shared, and a batch that nobody reads is erased. So are batches: %again is %y, once all that is folded.

func.func @main() {
  %x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
  %zero = spat.constant <f32[1, 2] [0.0, -0.0]> : tensor<1x2xf32>
  %one = spat.constant <f32[1, 2] [1.0, 1.0]> : tensor<1x2xf32>
  %a = spat.constant <f32[1, 2] [1.5, 2.5]> : tensor<1x2xf32>
  %b = spat.constant <f32[1, 2] [1.5, 2.5]> : tensor<1x2xf32>
  %y = spat.compute_batch lanes 4 ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>]
      weights(%zero, %one, %a, %b : tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>)
      -> tensor<4x4x2xf32> {
  ^bb0(%rows: tensor<1x4x2xf32>, %z: tensor<1x2xf32>, %o: tensor<1x2xf32>, %c: tensor<1x2xf32>, %d: tensor<1x2xf32>):
    %0 = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
    %1 = spat.vadd %0, %z : tensor<4x2xf32>, tensor<1x2xf32> -> tensor<4x2xf32>
    %2 = spat.vmul %1, %o : tensor<4x2xf32>, tensor<1x2xf32> -> tensor<4x2xf32>
    %3 = spat.vadd %2, %c : tensor<4x2xf32>, tensor<1x2xf32> -> tensor<4x2xf32>
    %4 = spat.vadd %3, %d : tensor<4x2xf32>, tensor<1x2xf32> -> tensor<4x2xf32>
    %5 = spat.relu %4 : tensor<4x2xf32>
    %6 = spat.relu %5 : tensor<4x2xf32>
    spat.yield %6 : tensor<4x2xf32>
  }
  %ab = spat.constant <f32[1, 2] [3.0, 5.0]> : tensor<1x2xf32>
  %again = spat.compute_batch lanes 4 ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>]
      weights(%ab : tensor<1x2xf32>) -> tensor<4x4x2xf32> {
  ^bb0(%rows: tensor<1x4x2xf32>, %c: tensor<1x2xf32>):
    %0 = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
    %1 = spat.vadd %0, %c : tensor<4x2xf32>, tensor<1x2xf32> -> tensor<4x2xf32>
    %2 = spat.relu %1 : tensor<4x2xf32>
    spat.yield %2 : tensor<4x2xf32>
  }
  %unread = spat.compute_batch lanes 4 ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>]
      -> tensor<4x4x2xf32> {
  ^bb0(%rows: tensor<1x4x2xf32>):
    %0 = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
    spat.yield %0 : tensor<4x2xf32>
  }
  spat.output "y" shape <i64[4] [1, 2, 4, 4]> channels [#tile.array<i32[2] [0, 1]>] %y : tensor<4x4x2xf32>
  spat.output "z" shape <i64[4] [1, 2, 4, 4]> channels [#tile.array<i32[2] [0, 1]>] %again : tensor<4x4x2xf32>
  func.return
}

// CHECK: [[X:%.*]] = spat.input
// CHECK-NEXT: [[SUM:%.*]] = spat.constant <f32[1, 2] [3.0, 5.0]>
// CHECK-NEXT: spat.compute_batch lanes 4 ins([[X]] : tensor<4x4x2xf32>) windows {{.*}} weights([[SUM]] : tensor<1x2xf32>)
// CHECK-NEXT: ^{{.*}}([[ROWS:%.*]]: tensor<1x4x2xf32>, [[C:%.*]]: tensor<1x2xf32>):
// CHECK-NEXT:   [[ROW:%.*]] = spat.view [[ROWS]]
// CHECK-NEXT:   [[S:%.*]] = spat.vadd [[ROW]], [[C]]
// CHECK-NEXT:   [[R:%.*]] = spat.relu [[S]]
// CHECK-NEXT:   spat.yield [[R]]
// CHECK-NOT: spat.compute_batch
// CHECK: spat.output
