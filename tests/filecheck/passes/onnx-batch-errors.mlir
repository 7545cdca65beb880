// RUN: not tile-opt %s -p 'onnx-batch{samples=4}' --split-input-file 2>&1 | filecheck %s
// RUN: not tile-opt %s -p 'onnx-batch{samples=0}' --split-input-file 2>&1 | filecheck %s --check-prefix NONE
// RUN: tile-opt %s -p onnx-batch --split-input-file | filecheck %s --check-prefix ONE
// NONE: error: {{.*}}pass 'onnx-batch': samples is 0, at least 1 expected

// What would mix samples is refused, node by node; what reads from such a node is not judged.
// CHECK: error: input 'input1': its type is tensor<2x8xf32>, whose leading axis does not hold one sample; give the model a batch of 1, by --dim if that is symbolic
// CHECK: error: node 'mean' (onnx.ReduceMean): it reduces over axis 0, the samples'; compile it for one sample
// CHECK: error: node 'turned' (onnx.Transpose): it moves axis 0, the samples'; compile it for one sample
// Of one sample, nothing is asked.
// ONE: onnx.ReduceMean
func.func @main(%x: tensor<1x8xf32>, %y: tensor<2x8xf32>) -> tensor<1x8xf32> {
  %m = onnx.ReduceMean(%x) {axes = array<i64: 0>} : (tensor<1x8xf32>) -> tensor<1x8xf32> loc("mean")
  %t = onnx.Transpose(%x) : (tensor<1x8xf32>) -> tensor<8x1xf32> loc("turned")
  %r = onnx.Relu(%m) : (tensor<1x8xf32>) -> tensor<1x8xf32> loc("relu")
  func.return %r : tensor<1x8xf32>
}

// -----

// CHECK: error: output 'output1': it does not depend on the samples; remove it from the model
func.func @main(%x: tensor<1x8xf32>) -> (tensor<1x8xf32>, tensor<2xf32>) {
  %c = onnx.Constant #tile.array<f32[2] [1.0, 2.0]>
  func.return %x, %c : tensor<1x8xf32>, tensor<2xf32>
}

// -----

// CHECK: error: module: no function @main holds a network
func.func @other() {
  func.return
}
