func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %w = onnx.Constant #tile.array<f32[2, 2] [1.0, 2.0, 3.0, 4.0]>
  %y = onnx.MatMul(%x, %w) : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %z = onnx.Tanh(%y) : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %t = onnx.Tanh(%z) : (tensor<1x2xf32>) -> tensor<1x2xf32>
  func.return %t : tensor<1x2xf32>
}
