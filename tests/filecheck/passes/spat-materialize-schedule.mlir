// RUN: tile-opt %s -p spat-materialize-schedule --split-input-file --print-debuginfo --verify-diagnostics | filecheck %s

func.func @main() {
  %x = spat.input "x" shape <i64[4] [1, 2, 2, 2]> : tensor<2x2x2xf32>
  // CHECK: %y = spat.scheduled_compute_batch lanes 2 replicas 2 cores <i32[2] [3, 1]> steps <i64[2] [10, 20]> spans <i64[2] [5, 7]> ins(%x : tensor<2x2x2xf32>) windows [#spat.window<height 2, lanes 2>] -> tensor<2x2x2xf32> {
  %y = spat.compute_batch lanes 2 replicas 2 cores <i32[2] [3, 1]> steps <i64[2] [10, 20]> spans <i64[2] [5, 7]> ins(%x : tensor<2x2x2xf32>) windows [#spat.window<height 2, lanes 2>] -> tensor<2x2x2xf32> {
  ^bb0(%rows: tensor<1x2x2xf32>):
    // CHECK: %row = spat.view %rows row 0 start 0 step 2
    %row = spat.view %rows row 0 start 0 step 2 : tensor<1x2x2xf32> -> tensor<2x2xf32>
    // CHECK-NEXT: spat.yield %row
    spat.yield %row : tensor<2x2xf32>
  // CHECK: } loc("layer")
  } loc("layer")
  // CHECK: spat.output "y" {{.*}} %y
  spat.output "y" shape <i64[4] [1, 2, 2, 2]> channels [#tile.array<i32[2] [0, 1]>] %y : tensor<2x2x2xf32>
  func.return
}

// -----

// expected-error@unknown {{a batch has no cores and steps; run spat-schedule-peft first}}
func.func @main() {
  %x = spat.input "x" shape <i64[4] [1, 2, 2, 2]> : tensor<2x2x2xf32>
  %y = spat.compute_batch lanes 2 ins(%x : tensor<2x2x2xf32>) windows [#spat.window<height 2, lanes 2>] -> tensor<2x2x2xf32> {
  ^bb0(%rows: tensor<1x2x2xf32>):
    %row = spat.view %rows row 0 start 0 step 2 : tensor<1x2x2xf32> -> tensor<2x2xf32>
    spat.yield %row : tensor<2x2xf32>
  } loc("layer")
  func.return
}
