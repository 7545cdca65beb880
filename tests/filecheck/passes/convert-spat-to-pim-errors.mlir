// RUN: not tile-opt %s -p convert-spat-to-pim --split-input-file 2>&1 | filecheck %s

// CHECK: error: module: no target machine is named
func.func @main() {
  func.return
}

// -----

// CHECK: error: module: no function @main holds a network
builtin.module attributes {tile.machine = "tiny4"} {
}

// -----

// CHECK: error: node 'layer': spat.compute_batch is not scheduled; run spat-schedule-peft, spat-materialize-schedule and the passes after them first
builtin.module attributes {tile.machine = "tiny4"} {
  func.func @main() {
    %x = spat.input "x" shape <i64[4] [1, 2, 1, 2]> : tensor<1x2x2xf32>
    %y = spat.compute_batch lanes 1 ins(%x : tensor<1x2x2xf32>) windows [#spat.window<height 1, lanes 1>] -> tensor<1x2x2xf32> {
    ^bb0(%rows: tensor<1x2x2xf32>):
      %row = spat.view %rows row 0 start 0 step 2 : tensor<1x2x2xf32> -> tensor<2x2xf32>
      spat.yield %row : tensor<2x2xf32>
    } loc("layer")
    func.return
  }
}

// -----

// CHECK: error: node 'layer': it reads an input that no core loads; run spat-defer-communication first
builtin.module attributes {tile.machine = "tiny4"} {
  func.func @main() {
    %x = spat.input "x" shape <i64[4] [1, 2, 1, 2]> : tensor<1x2x2xf32>
    %y = spat.scheduled_compute_batch lanes 1 cores <i32[1] [0]> steps <i64[1] [5]> ins(%x : tensor<1x2x2xf32>) windows [#spat.window<height 1, lanes 1>] -> tensor<1x2x2xf32> {
    ^bb0(%rows: tensor<1x2x2xf32>):
      %row = spat.view %rows row 0 start 0 step 2 : tensor<1x2x2xf32> -> tensor<2x2xf32>
      spat.yield %row : tensor<2x2xf32>
    } loc("layer")
    func.return
  }
}

// -----

// CHECK: error: {{.*}}convert-spat-to-pim-errors.mlir:50:5: it is on core 4, and machine 'tiny4' has 4 cores, 0 to 3; lower it for this machine, or let tile.machine name the one that it is made for
builtin.module attributes {tile.machine = "tiny4"} {
  func.func @main() {
    %x = spat.input "x" shape <i64[4] [1, 2, 1, 2]> : tensor<1x2x2xf32>
    %h = spat.deferred_communication %x needs <i64[1, 2] [0, 4]> : tensor<1x2x2xf32>
    %y = spat.scheduled_compute_batch lanes 1 cores <i32[1] [4]> steps <i64[1] [5]> ins(%h : tensor<1x2x2xf32>) windows [#spat.window<height 1, lanes 1>] -> tensor<1x2x2xf32> {
    ^bb0(%rows: tensor<1x2x2xf32>):
      %row = spat.view %rows row 0 start 0 step 2 : tensor<1x2x2xf32> -> tensor<2x2xf32>
      spat.yield %row : tensor<2x2xf32>
    } loc("layer")
    func.return
  }
}

// -----

// CHECK: error: node 'layer': communication is still deferred; run spat-realize-communication first
builtin.module attributes {tile.machine = "tiny4"} {
  func.func @main() {
    %x = spat.input "x" shape <i64[4] [1, 2, 1, 2]> : tensor<1x2x2xf32>
    %h = spat.deferred_communication %x needs <i64[1, 2] [0, 0]> : tensor<1x2x2xf32>
    %y = spat.scheduled_compute_batch lanes 1 cores <i32[1] [0]> steps <i64[1] [5]> ins(%h : tensor<1x2x2xf32>) windows [#spat.window<height 1, lanes 1>] -> tensor<1x2x2xf32> {
    ^bb0(%rows: tensor<1x2x2xf32>):
      %row = spat.view %rows row 0 start 0 step 2 : tensor<1x2x2xf32> -> tensor<2x2xf32>
      spat.yield %row : tensor<2x2xf32>
    }
    %z = spat.deferred_communication %y needs <i64[1, 2] [0, 1]> : tensor<1x2x2xf32> loc("layer")
    func.return
  }
}

// -----

// CHECK: error: node 'fc': a replica takes 9 arrays, and a core of machine 'tiny4' has 8; lower it for this machine
builtin.module attributes {tile.machine = "tiny4"} {
  func.func @main() {
    %x = spat.input "x" shape <i64[2] [1, 128]> : tensor<1x1x128xf32>
    %h = spat.deferred_communication %x needs <i64[1, 2] [0, 2]> : tensor<1x1x128xf32>
    %w = spat.constant <f32[128, 1152] splat 0.5> : tensor<128x1152xf32>
    %p = spat.scheduled_compute_batch lanes 1 cores <i32[1] [2]> steps <i64[1] [0]> ins(%h : tensor<1x1x128xf32>) windows [#spat.window<height 1, lanes 1>] weights(%w : tensor<128x1152xf32>) -> tensor<1x1x1152xf32> {
    ^bb0(%rows: tensor<1x1x128xf32>, %m: tensor<128x1152xf32>):
      %row = spat.view %rows row 0 start 0 step 128 : tensor<1x1x128xf32> -> tensor<1x128xf32>
      %0 = spat.vmm %row, %m row 0 : tensor<1x128xf32>, tensor<128x1152xf32> -> tensor<1x1152xf32>
      spat.yield %0 : tensor<1x1152xf32>
    } loc("fc")
    func.return
  }
}

// -----

// CHECK: error: module: it holds an ONNX network that is not lowered; run convert-onnx-to-spat first
func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %y = onnx.Relu(%x) : (tensor<1x2xf32>) -> tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}
