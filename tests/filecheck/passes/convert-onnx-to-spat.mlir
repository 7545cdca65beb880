// RUN: tile-opt %s -p 'convert-onnx-to-spat{machine=tiny4}' --split-input-file | filecheck %s
// RUN: tile-opt %s -p 'convert-onnx-to-spat{machine=tiny4 replicate=false}' --split-input-file | filecheck %s --check-prefix SINGLE
// RUN: tile-opt %s -p 'convert-onnx-to-spat{machine=tiny4 weight-bits=4 activation-bits=16}' --split-input-file | filecheck %s --check-prefix WIDTHS

// A convolution becomes products of windows with a matrix, then a bias; its weights stand on several cores.
// WIDTHS: builtin.module attributes {tile.machine = "tiny4", tile.weight_bits = 4 : i64, tile.activation_bits = 16 : i64}
// CHECK: builtin.module attributes {tile.machine = "tiny4", tile.weight_bits = 8 : i64, tile.activation_bits = 8 : i64}
// CHECK-NEXT: func.func @main() {
// CHECK-NEXT:   [[X:%[0-9]+]] = spat.input "x" shape <i64[4] [1, 128, 3, 3]> : tensor<3x3x128xf32>
// CHECK-NEXT:   [[W:%[0-9]+]] = spat.constant <f32[128, 128] splat 0.5> : tensor<128x128xf32>
// CHECK-NEXT:   [[P:%[0-9]+]] = spat.compute_batch lanes 3 replicas {{[23]}} ins([[X]] : tensor<3x3x128xf32>) windows [#spat.window<height 3, lanes 3>] weights([[W]] : tensor<128x128xf32>) -> tensor<3x3x128xf32> {
// CHECK:          [[V:%[0-9]+]] = spat.view {{.*}} row 0 start 0 step 128 : tensor<1x3x128xf32> -> tensor<3x128xf32>
// CHECK-NEXT:     spat.vmm [[V]], {{.*}} row 0 : tensor<3x128xf32>, tensor<128x128xf32> -> tensor<3x128xf32>
// CHECK:        spat.compute_batch lanes 3 {{.*}}ins([[P]] : tensor<3x3x128xf32>) windows [#spat.window<height 3, lanes 3>] weights({{.*}} : tensor<1x128xf32>) -> tensor<3x3x128xf32> {
// CHECK:          spat.vadd
// CHECK:        spat.output "y" shape <i64[4] [1, 128, 3, 3]> channels [#tile.array<i32[128] @
// CHECK-NEXT:   func.return
// SINGLE: spat.compute_batch lanes 3 ins(
func.func @main(%x: tensor<1x128x3x3xf32> {onnx.name = "x"}) -> (tensor<1x128x3x3xf32> {onnx.name = "y"}) {
  %w = onnx.Constant #tile.array<f32[128, 128, 1, 1] splat 0.5>
  %b = onnx.Constant #tile.array<f32[128] splat 1.0>
  %y = onnx.Conv(%x, %w, %b) {kernel_shape = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x128x3x3xf32>, tensor<128x128x1x1xf32>, tensor<128xf32>) -> tensor<1x128x3x3xf32>
  func.return %y : tensor<1x128x3x3xf32>
}

// -----

// What only renames channels costs nothing: a concatenation and a reshape.
// CHECK:      [[X:%[0-9]+]] = spat.input "input0" shape <i64[4] [1, 2, 2, 2]> : tensor<2x2x2xf32>
// CHECK-NEXT: [[R:%[0-9]+]] = spat.compute_batch lanes 2 ins([[X]] : tensor<2x2x2xf32>) windows [#spat.window<height 2, lanes 2>] -> tensor<2x2x2xf32> {
// CHECK:        spat.relu
// CHECK:      [[T:%[0-9]+]] = spat.compute_batch lanes 2 ins([[X]] : tensor<2x2x2xf32>)
// CHECK:        spat.tanh
// CHECK:      spat.output "output0" shape <i64[2] [1, 16]> channels [#tile.array<i32[2] [0, 1]>, #tile.array<i32[2] [2, 3]>] [[R]], [[T]] : tensor<2x2x2xf32>, tensor<2x2x2xf32>
func.func @main(%x: tensor<1x2x2x2xf32>) -> tensor<1x16xf32> {
  %r = onnx.Relu(%x) : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  %t = onnx.Tanh(%x) : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  %c = onnx.Concat(%r, %t) {axis = 1 : i64} : (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>) -> tensor<1x4x2x2xf32>
  %y = onnx.Reshape(%c) : (tensor<1x4x2x2xf32>) -> tensor<1x16xf32>
  func.return %y : tensor<1x16xf32>
}

// -----

// A pool reads three rows; the border repeats.
// CHECK:      spat.compute_batch lanes 4 ins({{.*}} : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4, rows 3, pad_top 1, edge clamp>] -> tensor<4x4x2xf32> {
// CHECK:        spat.reduce_rows "max" {{.*}} : tensor<3x4x2xf32> -> tensor<4x2xf32>
// CHECK-NEXT:   spat.pad {{.*}} columns 1, 1 channels 0, 0 : tensor<4x2xf32> -> tensor<6x2xf32>
// CHECK:        spat.vmax
// CHECK:        spat.vmax
func.func @main(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %y = onnx.MaxPool(%x) {kernel_shape = array<i64: 3, 3>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  func.return %y : tensor<1x2x4x4xf32>
}

// -----

// Rows of the input that several lanes read are loaded once and passed on.
// CHECK:      [[X:%[0-9]+]] = spat.input "input0" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// CHECK-NEXT: [[C:%[0-9]+]] = spat.compute_batch lanes 4 ins([[X]] : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
// CHECK-NEXT: ^{{.*}}([[R:%[0-9]+]]: tensor<1x4x2xf32>):
// CHECK-NEXT:   [[V:%[0-9]+]] = spat.view [[R]] row 0 start 0 step 2
// CHECK-NEXT:   spat.yield [[V]]
// CHECK:      spat.compute_batch lanes 4 {{.*}}ins([[C]] : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4, rows 3, pad_top 1, pad_left 1, pad_right 1>] weights(
func.func @main(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = onnx.Constant #tile.array<f32[2, 2, 3, 3] splat 0.5>
  %y = onnx.Conv(%x, %w) {kernel_shape = array<i64: 3, 3>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x2x4x4xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x4x4xf32>
  func.return %y : tensor<1x2x4x4xf32>
}

// -----

// Rows that one lane reads are not.
// CHECK:      [[X:%[0-9]+]] = spat.input "input0" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// CHECK-NEXT: spat.constant
// CHECK-NEXT: spat.compute_batch lanes 2 {{.*}}ins([[X]] : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 2, rows 2, stride 2>] weights(
func.func @main(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32> {
  %w = onnx.Constant #tile.array<f32[2, 2, 2, 2] splat 0.5>
  %y = onnx.Conv(%x, %w) {kernel_shape = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>} : (tensor<1x2x4x4xf32>, tensor<2x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  func.return %y : tensor<1x2x2x2xf32>
}

// -----

// 340 outputs are computed in two parts, each with rows of its own.
// CHECK:      [[A:%[0-9]+]] = spat.compute_batch lanes 2 {{.*}} weights({{.*}} : tensor<64x256xf32>) -> tensor<2x1x256xf32> {
// CHECK:      [[B:%[0-9]+]] = spat.compute_batch lanes 2 {{.*}} weights({{.*}} : tensor<64x84xf32>) -> tensor<2x1x84xf32> {
// CHECK:      spat.output "output0" {{.*}} [[A]], [[B]] : tensor<2x1x256xf32>, tensor<2x1x84xf32>
func.func @main(%x: tensor<1x64x2x1xf32>) -> tensor<1x340x2x1xf32> {
  %w = onnx.Constant #tile.array<f32[340, 64, 1, 1] splat 0.5>
  %y = onnx.Conv(%x, %w) {kernel_shape = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x64x2x1xf32>, tensor<340x64x1x1xf32>) -> tensor<1x340x2x1xf32>
  func.return %y : tensor<1x340x2x1xf32>
}

// -----

// Of a single row, all outputs are computed together.
// CHECK:      [[A:%[0-9]+]] = spat.compute_batch lanes 1 {{.*}} weights({{.*}} : tensor<64x300xf32>) -> tensor<1x1x300xf32> {
// CHECK:      spat.output "output0" {{.*}} [[A]] : tensor<1x1x300xf32>
func.func @main(%x: tensor<1x64x1x1xf32>) -> tensor<1x300x1x1xf32> {
  %w = onnx.Constant #tile.array<f32[300, 64, 1, 1] splat 0.5>
  %y = onnx.Conv(%x, %w) {kernel_shape = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x64x1x1xf32>, tensor<300x64x1x1xf32>) -> tensor<1x300x1x1xf32>
  func.return %y : tensor<1x300x1x1xf32>
}
