// RUN: tile-opt %s -p 'convert-onnx-to-spat{machine=tiny4}' --split-input-file | filecheck %s

// Of a high image, each row is combined in a lane of its own.
// CHECK:      [[X:%[0-9]+]] = spat.input
// CHECK:      [[R:%[0-9]+]] = spat.compute_batch lanes 4 ins([[X]] : tensor<4x3x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x1x2xf32> {
// CHECK:        spat.reduce_columns "add"
// CHECK:      spat.compute_batch lanes 1 ins([[R]] : tensor<4x1x2xf32>) windows [#spat.window<height 4, lanes 1, rows 4, stride 4>] weights({{.*}}) -> tensor<1x1x2xf32> {
// CHECK:        spat.reduce_rows "add"
// CHECK-NOT:    spat.reduce_columns
// CHECK:        spat.vmul
func.func @main(%x: tensor<1x2x4x3xf32>) -> tensor<1x2x1x1xf32> {
  %y = onnx.GlobalAveragePool(%x) : (tensor<1x2x4x3xf32>) -> tensor<1x2x1x1xf32>
  func.return %y : tensor<1x2x1x1xf32>
}

// -----

// Of two images, each.
// CHECK:      spat.compute_batch lanes 8 {{.*}} windows [#spat.window<height 8, lanes 8>]
// CHECK:        spat.reduce_columns "max"
// CHECK:      spat.compute_batch lanes 2 {{.*}} windows [#spat.window<height 4, lanes 1, rows 4, stride 4>]
// CHECK:        spat.reduce_rows "max"
func.func @main(%x: tensor<2x2x4x3xf32>) -> tensor<2x2x1x1xf32> {
  %y = onnx.GlobalMaxPool(%x) : (tensor<2x2x4x3xf32>) -> tensor<2x2x1x1xf32>
  func.return %y : tensor<2x2x1x1xf32>
}

// -----

// Of a low one, and of rows of one column, one lane combines all.
// CHECK:      spat.compute_batch lanes 1
// CHECK:        spat.reduce_rows "add"
// CHECK:        spat.reduce_columns "add"
// CHECK:      spat.compute_batch lanes 1
// CHECK:        spat.reduce_rows "add"
func.func @main(%x: tensor<1x2x3x3xf32>, %y: tensor<1x2x4x1xf32>) -> (tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>) {
  %a = onnx.GlobalAveragePool(%x) : (tensor<1x2x3x3xf32>) -> tensor<1x2x1x1xf32>
  %b = onnx.GlobalAveragePool(%y) : (tensor<1x2x4x1xf32>) -> tensor<1x2x1x1xf32>
  func.return %a, %b : tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>
}
