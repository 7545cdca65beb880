// RUN: tile-opt %s | tile-opt | filecheck %s
// RUN: tile-opt %s --print-op-generic | tile-opt | filecheck %s
// The text form of the dialect; the example of each op is in its documentation.

// CHECK-LABEL: func.func @main(%x: tensor<1x3x8x8xf32> {onnx.name = "image"}) -> (tensor<1x4xf32> {onnx.name = "logits"})
func.func @main(%x: tensor<1x3x8x8xf32> {onnx.name = "image"}) -> (tensor<1x4xf32> {onnx.name = "logits"}) {
  // CHECK-NEXT: %w = onnx.Constant #tile.array<f32[4, 3, 3, 3] splat 0.1>
  %w = onnx.Constant #tile.array<f32[4, 3, 3, 3] splat 0.1>

  // Attributes print in the order of their declaration, and not at all if they have their default.
  // CHECK-NEXT: %0 = onnx.Conv(%x, %w) {pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x4x4xf32>
  %0 = onnx.Conv(%x, %w) {strides = array<i64: 2, 2>, group = 1 : i64, pads = array<i64: 1, 1, 1, 1>} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x4x4xf32>

  // CHECK-NEXT: %1, %2 = onnx.Split(%0) {axis = 2 : i64, split = array<i64: 1, 3>} : (tensor<1x4x4x4xf32>) -> (tensor<1x4x1x4xf32>, tensor<1x4x3x4xf32>)
  %1, %2 = onnx.Split(%0) {axis = 2 : i64, split = array<i64: 1, 3>} : (tensor<1x4x4x4xf32>) -> (tensor<1x4x1x4xf32>, tensor<1x4x3x4xf32>)

  // CHECK-NEXT: %3 = onnx.Concat(%2, %1) {axis = 2 : i64} : (tensor<1x4x3x4xf32>, tensor<1x4x1x4xf32>) -> tensor<1x4x4x4xf32>
  %3 = onnx.Concat(%2, %1) {axis = 2 : i64} : (tensor<1x4x3x4xf32>, tensor<1x4x1x4xf32>) -> tensor<1x4x4x4xf32>

  // Discardable attributes have a dialect's prefix.
  // CHECK-NEXT: %4 = onnx.GlobalAveragePool(%3) {spat.note = "mean"} : (tensor<1x4x4x4xf32>) -> tensor<1x4x1x1xf32>
  %4 = onnx.GlobalAveragePool(%3) {spat.note = "mean"} : (tensor<1x4x4x4xf32>) -> tensor<1x4x1x1xf32>

  // CHECK-NEXT: %5 = onnx.ConstantOfShape() {value = #tile.array<i64[1] [3]>} : () -> tensor<2x2xi64>
  %5 = onnx.ConstantOfShape() {value = #tile.array<i64[1] [3]>} : () -> tensor<2x2xi64>

  // CHECK-NEXT: %6 = onnx.Flatten(%4) : (tensor<1x4x1x1xf32>) -> tensor<1x4xf32>
  %6 = onnx.Flatten(%4) {axis = 1 : i64} : (tensor<1x4x1x1xf32>) -> tensor<1x4xf32>
  func.return %6 : tensor<1x4xf32>
}
