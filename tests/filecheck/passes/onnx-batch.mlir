// RUN: tile-opt %s -p 'onnx-batch{samples=4}' --split-input-file | filecheck %s
// RUN: tile-opt %s -p onnx-batch --split-input-file | filecheck %s --check-prefix ONE
// RUN: tile-opt %s -p 'tile-default{machine=tiny4 samples=4}' --split-input-file | filecheck %s --check-prefix WHOLE

// The leading axis of what depends on the input has four times the extent; constants are shared.
// CHECK:       builtin.module attributes {tile.samples = 4 : i64}
// CHECK-LABEL: @main(%x: tensor<4x1x4x4xf32>) -> tensor<4x3xf32>
// CHECK:       %w = onnx.Constant #tile.array<f32[2, 1, 3, 3] splat 1.0>
// CHECK:       onnx.Conv(%x, %w) {{.*}} : (tensor<4x1x4x4xf32>, tensor<2x1x3x3xf32>) -> tensor<4x2x2x2xf32>
// CHECK:       onnx.Add({{.*}}) : (tensor<4x2x2x2xf32>, tensor<2x1x1xf32>) -> tensor<4x2x2x2xf32>
// CHECK:       onnx.Reshape({{.*}}) : (tensor<4x2x2x2xf32>) -> tensor<4x8xf32>
// CHECK:       onnx.Gemm({{.*}}, %v) : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
// CHECK:       func.return {{.*}} : tensor<4x3xf32>
// ONE-NOT:     tile.samples
// ONE:         @main(%x: tensor<1x1x4x4xf32>) -> tensor<1x3xf32>
func.func @main(%x: tensor<1x1x4x4xf32>) -> tensor<1x3xf32> {
  %w = onnx.Constant #tile.array<f32[2, 1, 3, 3] splat 1.0>
  %b = onnx.Constant #tile.array<f32[2, 1, 1] [1.0, 2.0]>
  %v = onnx.Constant #tile.array<f32[8, 3] splat 0.5>
  %y = onnx.Conv(%x, %w) {kernel_shape = array<i64: 3, 3>} : (tensor<1x1x4x4xf32>, tensor<2x1x3x3xf32>) -> tensor<1x2x2x2xf32>
  %a = onnx.Add(%y, %b) : (tensor<1x2x2x2xf32>, tensor<2x1x1xf32>) -> tensor<1x2x2x2xf32>
  %r = onnx.Reshape(%a) : (tensor<1x2x2x2xf32>) -> tensor<1x8xf32>
  %z = onnx.Gemm(%r, %v) : (tensor<1x8xf32>, tensor<8x3xf32>) -> tensor<1x3xf32>
  func.return %z : tensor<1x3xf32>
}

// -----

// The whole pipeline: rows of four samples are lanes of one batch, and the program takes four.
// WHOLE: tile.samples = 4 : i64
// WHOLE: pim.input {{.*}}[4, 1, 4, 4]
// WHOLE: tile.samples = 4 : i64
// WHOLE: pim.input {{.*}}[4, 8]
func.func @main(%x: tensor<1x8xf32>) -> tensor<1x3xf32> {
  %v = onnx.Constant #tile.array<f32[8, 3] splat 0.5>
  %z = onnx.Gemm(%x, %v) : (tensor<1x8xf32>, tensor<8x3xf32>) -> tensor<1x3xf32>
  func.return %z : tensor<1x3xf32>
}
