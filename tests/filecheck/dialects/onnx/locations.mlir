// RUN: tile-opt %s --print-debuginfo | tile-opt --print-debuginfo | filecheck %s
// The name of a node is the location of its op.

// CHECK-LABEL: @main
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %0 = onnx.Constant #tile.array<f32[4] splat 1.0> loc("/layer1/weight")
  %0 = onnx.Constant #tile.array<f32[4] splat 1.0> loc("/layer1/weight")
  // CHECK-NEXT: %1 = onnx.Add(%x, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc(fused["/layer1/conv", "/layer1/\22norm\22"])
  %1 = onnx.Add(%x, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc(fused["/layer1/conv", "/layer1/\22norm\22"])
  func.return %1 : tensor<4xf32>
}
