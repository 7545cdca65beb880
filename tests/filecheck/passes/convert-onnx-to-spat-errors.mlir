// RUN: not tile-opt %s -p 'convert-onnx-to-spat{machine=tiny4}' --split-input-file 2>&1 | filecheck %s
// RUN: not tile-opt %s -p 'convert-onnx-to-spat{machine=tiny5}' --split-input-file 2>&1 | filecheck %s --check-prefix MACHINE
// RUN: not tile-opt %s -p 'convert-onnx-to-spat{machine=tiny4 weight-bits=0}' --split-input-file 2>&1 | filecheck %s --check-prefix WEIGHTS
// RUN: not tile-opt %s -p 'convert-onnx-to-spat{machine=tiny4 activation-bits=33}' --split-input-file 2>&1 | filecheck %s --check-prefix ACTIVATIONS
// MACHINE: error: machine tiny5: is neither a machine file nor a preset; presets are reference144, tiny4
// WEIGHTS: error: {{.*}}weight-bits is 0, 1 to 32 bits expected
// ACTIVATIONS: error: {{.*}}activation-bits is 33, 1 to 32 bits expected

// Every layer that has no lowering is named.
// CHECK: error: node 'a' (onnx.Slice): a slice of [1, 2, 2, 2] to [1, 2, 2, 2] in reverse order; rows and columns have to keep
// CHECK: error: node 'c' (onnx.Softmax): a softmax over axis 3
func.func @main(%x: tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32> {
  %a = onnx.Slice(%x) {starts = array<i64: 1>, ends = array<i64: -3>, axes = array<i64: 2>, steps = array<i64: -1>} : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32> loc("a")
  %b = onnx.Relu(%a) : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32> loc("b")
  %c = onnx.Softmax(%x) {axis = 3 : i64} : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32> loc("c")
  func.return %b : tensor<1x2x2x2xf32>
}

// -----

// CHECK: error: machine 'tiny4': the layers need 64 arrays, the machine has 32 (4 cores of 8); most need: fc 64
func.func @main(%x: tensor<1x1024xf32>) -> tensor<1x1024xf32> {
  %w = onnx.Constant #tile.array<f32[1024, 1024] splat 0.5>
  %y = onnx.Gemm(%x, %w) : (tensor<1x1024xf32>, tensor<1024x1024xf32>) -> tensor<1x1024xf32> loc("fc")
  func.return %y : tensor<1x1024xf32>
}

// -----

// CHECK: error: module: no function @main holds a network
func.func @other() {
  func.return
}

// -----

// CHECK: error: input 'input0': its type is tensor<3xf32>; inputs of rank 2 and 4 are supported
func.func @main(%x: tensor<3xf32>) {
  func.return
}

// -----

// CHECK: error: function @main: it has no outputs; return what the network computes
func.func @main(%x: tensor<1x2xf32>) {
  func.return
}

// -----

// CHECK: error: function @main: it has no inputs, so that its outputs are constants; give it its inputs
func.func @main() -> tensor<1x1xf32> {
  %w = onnx.Constant #tile.array<f32[1, 1] splat 0.5>
  func.return %w : tensor<1x1xf32>
}

// -----

// CHECK: error: input 'input0': its type is i32; tensors of known rank are supported
func.func @main(%x: i32) -> i32 {
  func.return %x : i32
}

// -----

// CHECK: error: input 'input1': its type is tensor<*xf32>; tensors of known rank are supported
func.func @main(%x: tensor<1x2xf32>, %y: tensor<*xf32>) -> tensor<1x2xf32> {
  func.return %x : tensor<1x2xf32>
}

// -----

// CHECK: error: {{.*}} (arith.constant): no lowering to the spat dialect exists for this op; remove it, or say it in the onnx dialect
func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %c = arith.constant 1 : i32
  %y = onnx.Relu(%x) : (tensor<1x2xf32>) -> tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}

// -----

// CHECK: error: function @main: it has 0 blocks, a network has 1; give it its body
func.func private @main(tensor<1x2xf32>) -> tensor<1x2xf32>

// -----

// CHECK: error: function @main: it has 2 blocks, a network has 1; write its ops into the first
func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  "cf.br"(%x) [^end] : (tensor<1x2xf32>) -> ()
^end(%y: tensor<1x2xf32>):
  func.return %y : tensor<1x2xf32>
}

// -----

// CHECK: error: module: beside the network in @main it holds 2 other ops, the first of which is func.func @first; remove them
func.func @first(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  func.return %x : tensor<1x2xf32>
}
func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %y = onnx.Relu(%x) : (tensor<1x2xf32>) -> tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}
func.func private @second(tensor<1x2xf32>) -> tensor<1x2xf32>

// -----

// What onnx-simplify would remove is told to be simplified.
// CHECK: error: node 'same' (onnx.Dropout): no lowering to the spat dialect exists for this op; run onnx-simplify first{{$}}
// CHECK: error: node 'mm' (onnx.MatMul): no lowering {{.*}}; only what onnx-simplify rewrites is supported, see docs/operators.md
func.func @main(%x: tensor<1x2xf32>) -> (tensor<1x2xf32>, tensor<1x2xf32>) {
  %w = onnx.Constant #tile.array<f32[2, 2] splat 0.5>
  %a = onnx.Dropout(%x) : (tensor<1x2xf32>) -> tensor<1x2xf32> loc("same")
  %b = onnx.MatMul(%x, %w) : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32> loc("mm")
  func.return %a, %b : tensor<1x2xf32>, tensor<1x2xf32>
}

// -----

// CHECK: error: node 'high': it has 2000000 rows (images times their height), all layers together 2000007; at most 1000000 can be scheduled; make the image less high or the samples fewer
func.func @main(%x: tensor<1x1x7x64xf32>) -> tensor<1x3x2000000x64xf32> {
  %w = onnx.Constant #tile.array<f32[3, 1, 1, 1] splat 0.5>
  %y = onnx.Conv(%x, %w) {strides = array<i64: 1, 1>, pads = array<i64: 1999993, 0, 0, 0>} : (tensor<1x1x7x64xf32>, tensor<3x1x1x1xf32>) -> tensor<1x3x2000000x64xf32> loc("high")
  func.return %y : tensor<1x3x2000000x64xf32>
}

// -----

// CHECK: error: node 'wide': it has 200000000 positions, at most 100000000 are supported; make the image smaller
func.func @main(%x: tensor<1x1x1000x100000xf32>) -> tensor<1x1x1000x200000xf32> {
  %y = onnx.MaxPool(%x) {kernel_shape = array<i64: 1, 100001>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 100000, 0, 100000>} : (tensor<1x1x1000x100000xf32>) -> tensor<1x1x1000x200000xf32> loc("wide")
  func.return %y : tensor<1x1x1000x200000xf32>
}

// -----

// An infinity or NaN would make NaN of the zeros beside it.
// CHECK: error: node 'fc' (onnx.Gemm): 2 of the 4 elements of its matrix 'w' are not finite f32, the first is nan; train or export the model again
func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %w = onnx.Constant #tile.array<f32[2, 2] [1.0, nan, 3.0, -inf]> loc("w")
  %y = onnx.Gemm(%x, %w) : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32> loc("fc")
  func.return %y : tensor<1x2xf32>
}

// -----

// Doubles that no f32 can hold.
// CHECK: error: node 'fc' (onnx.Gemm): 1 of the 4 elements of its matrix are not finite f32, the first is inf; train or
// CHECK-NOT: Warning
func.func @main(%x: tensor<1x2xf64>) -> tensor<1x2xf64> {
  %w = onnx.Constant #tile.array<f64[2, 2] [1.0, 1.0e300, 3.0, 4.0]>
  %y = onnx.Gemm(%x, %w) : (tensor<1x2xf64>, tensor<2x2xf64>) -> tensor<1x2xf64> loc("fc")
  func.return %y : tensor<1x2xf64>
}

// -----

// Large numbers whose sum is infinite are finite.
// CHECK-NOT: finite
func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %w = onnx.Constant #tile.array<f32[2, 2] [3.0e38, 3.0e38, 3.0e38, 3.0e38]>
  %y = onnx.Gemm(%x, %w) : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32> loc("fc")
  func.return %y : tensor<1x2xf32>
}

// -----

// CHECK: error: function @main: it is lowered to the spat dialect already; run only the passes after this one
builtin.module attributes {tile.machine = "tiny4"} {
  func.func @main() {
    %x = spat.input "x" shape <i64[4] [1, 2, 1, 2]> : tensor<1x2x2xf32>
    func.return
  }
}

// -----

// CHECK: error: module: it is lowered to the pim dialect already; run only the passes that remain
builtin.module attributes {tile.machine = "tiny4"} {
  pim.program {
  }
}
