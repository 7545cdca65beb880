// RUN: not tile-opt %s -p spat-realize-communication --split-input-file 2>&1 | filecheck %s

// A reader comes before what it reads.
// CHECK: error: node 'first': core 1 reads row 0 at step 0, and it is computed at step 5
builtin.module attributes {tile.machine = "tiny4"} {
  func.func @main() {
    %x = spat.input "x" shape <i64[4] [1, 2, 1, 2]> : tensor<1x2x2xf32>
    %y = spat.scheduled_compute_batch lanes 1 cores <i32[1] [0]> steps <i64[1] [5]> ins(%x : tensor<1x2x2xf32>) windows [#spat.window<height 1, lanes 1>] -> tensor<1x2x2xf32> {
    ^bb0(%rows: tensor<1x2x2xf32>):
      %row = spat.view %rows row 0 start 0 step 2 : tensor<1x2x2xf32> -> tensor<2x2xf32>
      spat.yield %row : tensor<2x2xf32>
    } loc("first")
    %there = spat.deferred_communication %y needs <i64[1, 2] [0, 1]> : tensor<1x2x2xf32>
    %z = spat.scheduled_compute_batch lanes 1 cores <i32[1] [1]> steps <i64[1] [0]> ins(%there : tensor<1x2x2xf32>) windows [#spat.window<height 1, lanes 1>] -> tensor<1x2x2xf32> {
    ^bb0(%rows: tensor<1x2x2xf32>):
      %row = spat.view %rows row 0 start 0 step 2 : tensor<1x2x2xf32> -> tensor<2x2xf32>
      spat.yield %row : tensor<2x2xf32>
    }
    func.return
  }
}

// -----

// CHECK: error: module: no target machine is named
func.func @main() {
  func.return
}

// -----

// CHECK: error: node 'first': it is on core 9, and machine 'tiny4' has 4 cores, 0 to 3;
builtin.module attributes {tile.machine = "tiny4"} {
  func.func @main() {
    %x = spat.input "x" shape <i64[4] [1, 2, 1, 2]> : tensor<1x2x2xf32>
    %y = spat.scheduled_compute_batch lanes 1 cores <i32[1] [9]> steps <i64[1] [5]> ins(%x : tensor<1x2x2xf32>) windows [#spat.window<height 1, lanes 1>] -> tensor<1x2x2xf32> {
    ^bb0(%rows: tensor<1x2x2xf32>):
      %row = spat.view %rows row 0 start 0 step 2 : tensor<1x2x2xf32> -> tensor<2x2xf32>
      spat.yield %row : tensor<2x2xf32>
    } loc("first")
    %there = spat.deferred_communication %y needs <i64[1, 2] [0, 1]> : tensor<1x2x2xf32>
    %z = spat.scheduled_compute_batch lanes 1 cores <i32[1] [1]> steps <i64[1] [4000]> ins(%there : tensor<1x2x2xf32>) windows [#spat.window<height 1, lanes 1>] -> tensor<1x2x2xf32> {
    ^bb0(%rows: tensor<1x2x2xf32>):
      %row = spat.view %rows row 0 start 0 step 2 : tensor<1x2x2xf32> -> tensor<2x2xf32>
      spat.yield %row : tensor<2x2xf32>
    } loc("second")
    func.return
  }
}
