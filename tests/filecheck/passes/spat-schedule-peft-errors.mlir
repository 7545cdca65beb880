// RUN: not tile-opt %s -p spat-schedule-peft --split-input-file 2>&1 | filecheck %s
// RUN: not tile-opt %s -p 'spat-schedule-peft{lead=-1}' 2>&1 | filecheck %s --check-prefix LEAD
// LEAD: error: {{.*}}lead is -1

// CHECK: error: module: no target machine is named; add the module attribute tile.machine = "reference144"
func.func @main() {
  func.return
}

// -----

// CHECK: error: module: attribute tile.weight_bits is "8"; an integer is expected
builtin.module attributes {tile.machine = "tiny4", tile.weight_bits = "8"} {
  func.func @main() {
    func.return
  }
}

// -----

// CHECK: error: module: attribute tile.activation_bits is 64; 1 to 32 bits expected
builtin.module attributes {tile.machine = "tiny4", tile.activation_bits = 64 : i64} {
  func.func @main() {
    func.return
  }
}

// -----

// CHECK: error: machine tiny5: is neither a machine file nor a preset
builtin.module attributes {tile.machine = "tiny5"} {
  func.func @main() {
    func.return
  }
}

// -----

// CHECK: error: machine 'tiny4': the model needs 40 arrays, most for fc (40); the machine has 4 cores x 8 = 32, and no placement fits; use a machine with more cores or more arrays per core
builtin.module attributes {tile.machine = "tiny4"} {
  func.func @main() {
    %x = spat.input "x" shape <i64[2] [5, 128]> : tensor<5x1x128xf32>
    %w = spat.constant <f32[128, 1024] splat 0.5> : tensor<128x1024xf32>
    %p = spat.compute_batch lanes 5 replicas 5 ins(%x : tensor<5x1x128xf32>) windows [#spat.window<height 5, lanes 5>] weights(%w : tensor<128x1024xf32>) -> tensor<5x1x1024xf32> {
    ^bb0(%rows: tensor<1x1x128xf32>, %m: tensor<128x1024xf32>):
      %row = spat.view %rows row 0 start 0 step 128 : tensor<1x1x128xf32> -> tensor<1x128xf32>
      %0 = spat.vmm %row, %m row 0 : tensor<1x128xf32>, tensor<128x1024xf32> -> tensor<1x1024xf32>
      spat.yield %0 : tensor<1x1024xf32>
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
