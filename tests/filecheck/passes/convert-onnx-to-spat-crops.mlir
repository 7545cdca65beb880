// RUN: tile-opt %s -p 'convert-onnx-to-spat{machine=tiny4}' --split-input-file | filecheck %s

// Pieces that are neighbouring channels are copied, one batch each.
// CHECK:      [[X:%[0-9]+]] = spat.input "input0" shape <i64[4] [1, 6, 2, 3]> : tensor<2x3x6xf32>
// CHECK:      [[R:%[0-9]+]] = spat.compute_batch lanes 2 ins([[X]] : tensor<2x3x6xf32>)
// CHECK:        spat.relu
// CHECK:      [[A:%[0-9]+]] = spat.compute_batch lanes 2 ins([[R]] : tensor<2x3x6xf32>) windows [#spat.window<height 2, lanes 2>] -> tensor<2x3x4xf32> {
// CHECK:        spat.view {{.*}} row 0 start 0 step 6 : tensor<1x3x6xf32> -> tensor<3x4xf32>
// CHECK:      [[B:%[0-9]+]] = spat.compute_batch lanes 2 ins([[R]] : tensor<2x3x6xf32>) windows [#spat.window<height 2, lanes 2>] -> tensor<2x3x2xf32> {
// CHECK:        spat.view {{.*}} row 0 start 4 step 6 : tensor<1x3x6xf32> -> tensor<3x2xf32>
// CHECK:      spat.output "output0" {{.*}} [[A]] : tensor<2x3x4xf32>
// CHECK-NEXT: spat.output "output1" {{.*}} [[B]] : tensor<2x3x2xf32>
func.func @main(%x: tensor<1x6x2x3xf32>) -> (tensor<1x4x2x3xf32>, tensor<1x2x2x3xf32>) {
  %r = onnx.Relu(%x) : (tensor<1x6x2x3xf32>) -> tensor<1x6x2x3xf32>
  %a, %b = onnx.Split(%r) {axis = 1 : i64, split = array<i64: 4, 2>} : (tensor<1x6x2x3xf32>) -> (tensor<1x4x2x3xf32>, tensor<1x2x2x3xf32>)
  func.return %a, %b : tensor<1x4x2x3xf32>, tensor<1x2x2x3xf32>
}

// -----

// What a concatenation joined comes apart without a copy; what nobody reads then is not computed.
// CHECK-NOT:  spat.relu
// CHECK:      [[B:%[0-9]+]] = spat.compute_batch
// CHECK:        spat.sigmoid
// CHECK-NOT:  spat.compute_batch
// CHECK:      spat.output "output0" {{.*}} [[B]] : tensor<2x3x2xf32>
func.func @main(%x: tensor<1x2x2x3xf32>) -> tensor<1x2x2x3xf32> {
  %a = onnx.Relu(%x) : (tensor<1x2x2x3xf32>) -> tensor<1x2x2x3xf32>
  %b = onnx.Sigmoid(%x) : (tensor<1x2x2x3xf32>) -> tensor<1x2x2x3xf32>
  %c = onnx.Concat(%a, %b) {axis = 1 : i64} : (tensor<1x2x2x3xf32>, tensor<1x2x2x3xf32>) -> tensor<1x4x2x3xf32>
  %s = onnx.Slice(%c) {starts = array<i64: 2>, ends = array<i64: 4>, axes = array<i64: 1>} : (tensor<1x4x2x3xf32>) -> tensor<1x2x2x3xf32>
  func.return %s : tensor<1x2x2x3xf32>
}

// -----

// Rows and columns are cut by the window and the view.
// CHECK:      spat.compute_batch lanes 2 ins({{.*}} : tensor<5x6x2xf32>) windows [#spat.window<height 5, lanes 2, stride 3, pad_top -1>] -> tensor<2x2x2xf32> {
// CHECK:        spat.view {{.*}} row 0 start 4 step 4 : tensor<1x6x2xf32> -> tensor<2x2xf32>
func.func @main(%x: tensor<1x2x5x6xf32>) -> tensor<1x2x2x2xf32> {
  %s = onnx.Slice(%x) {starts = array<i64: 1, 2>, ends = array<i64: 5, 6>, axes = array<i64: 2, 3>, steps = array<i64: 3, 2>} : (tensor<1x2x5x6xf32>) -> tensor<1x2x2x2xf32>
  func.return %s : tensor<1x2x2x2xf32>
}

// -----

// Zeros around an image are those that windows read outside of it.
// CHECK:      spat.compute_batch lanes 4 ins({{.*}} : tensor<3x3x2xf32>) windows [#spat.window<height 3, lanes 4, pad_top 1, pad_left 2>] -> tensor<4x4x2xf32> {
// CHECK:        spat.view {{.*}} row 0 start 0 step 2 : tensor<1x5x2xf32> -> tensor<4x2xf32>
func.func @main(%x: tensor<1x2x3x3xf32>) -> tensor<1x2x4x4xf32> {
  %p = onnx.Pad(%x) {pads = array<i64: 0, 0, 1, 2, 0, 0, 0, -1>} : (tensor<1x2x3x3xf32>) -> tensor<1x2x4x4xf32>
  func.return %p : tensor<1x2x4x4xf32>
}

// -----

// Every other channel of many: a product selects them.
// CHECK:      [[W:%[0-9]+]] = spat.constant <f32[12, 6] {{.*}}
// CHECK:      spat.compute_batch {{.*}} weights([[W]] : tensor<12x6xf32>) -> tensor<1x1x6xf32> {
// CHECK:        spat.vmm
func.func @main(%x: tensor<1x12x1x1xf32>) -> tensor<1x6x1x1xf32> {
  %s = onnx.Slice(%x) {starts = array<i64: 0>, ends = array<i64: 12>, axes = array<i64: 1>, steps = array<i64: 2>} : (tensor<1x12x1x1xf32>) -> tensor<1x6x1x1xf32>
  func.return %s : tensor<1x6x1x1xf32>
}

// -----

// One value per position is spread over the channels of the other operand.
// CHECK:      spat.compute_batch lanes 2
// CHECK:        [[S:%[0-9]+]] = spat.spread {{.*}} : tensor<3x1xf32> -> tensor<3x4xf32>
// CHECK-NEXT:   spat.vmul {{.*}}, [[S]]
func.func @main(%x: tensor<1x4x2x3xf32>, %a: tensor<1x1x2x3xf32>) -> tensor<1x4x2x3xf32> {
  %y = onnx.Mul(%a, %x) : (tensor<1x1x2x3xf32>, tensor<1x4x2x3xf32>) -> tensor<1x4x2x3xf32>
  func.return %y : tensor<1x4x2x3xf32>
}
