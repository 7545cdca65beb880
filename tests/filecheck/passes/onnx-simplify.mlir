// RUN: tile-opt -p onnx-simplify %s | filecheck %s
// RUN: tile-opt -p onnx-simplify,onnx-simplify %s | filecheck %s

// A normalization moves into the convolution before it.
// CHECK-LABEL: @batch_normalization
// CHECK-NEXT:  %w = onnx.Constant #tile.array<f32[2, 1, 3, 3] splat 2.0>
// CHECK-NEXT:  %b = onnx.Constant #tile.array<f32[2] [1.0, -6.0]>
// CHECK-NEXT:  %z = onnx.Conv(%x, %w, %b) {kernel_shape = array<i64: 3, 3>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>}
// CHECK-NEXT:  func.return %z
func.func @batch_normalization(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x2x2xf32> {
  %w = onnx.Constant #tile.array<f32[2, 1, 3, 3] splat 1.0>
  %scale = onnx.Constant #tile.array<f32[2] [2.0, 4.0]>
  %b = onnx.Constant #tile.array<f32[2] [1.0, 0.0]>
  %mean = onnx.Constant #tile.array<f32[2] [0.0, 3.0]>
  %var = onnx.Constant #tile.array<f32[2] [0.75, 3.75]>
  %y = onnx.Conv(%x, %w) : (tensor<1x1x4x4xf32>, tensor<2x1x3x3xf32>) -> tensor<1x2x2x2xf32>
  %z = onnx.BatchNormalization(%y, %scale, %b, %mean, %var) {epsilon = 0.25 : f32} : (tensor<1x2x2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x2x2xf32>
  func.return %z : tensor<1x2x2x2xf32>
}

// Without one, it is a Mul and an Add with constants [C, 1, 1].
// CHECK-LABEL: @batch_normalization_alone
// CHECK-NEXT:  %scale = onnx.Constant #tile.array<f32[2, 1, 1] [2.0, 1.0]>
// CHECK-NEXT:  onnx.Mul(%x, %scale) : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
// CHECK-NEXT:  %b = onnx.Constant #tile.array<f32[2, 1, 1] [1.0, -3.0]>
// CHECK-NEXT:  onnx.Add({{.*}}, %b) : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
func.func @batch_normalization_alone(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %scale = onnx.Constant #tile.array<f32[2] [2.0, 2.0]>
  %b = onnx.Constant #tile.array<f32[2] [1.0, 0.0]>
  %mean = onnx.Constant #tile.array<f32[2] [0.0, 3.0]>
  %var = onnx.Constant #tile.array<f32[2] [0.75, 3.75]>
  %z = onnx.BatchNormalization(%x, %scale, %b, %mean, %var) {epsilon = 0.25 : f32} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  func.return %z : tensor<1x2x4x4xf32>
}

// Somebody else reads the convolution: its weights stay.
// CHECK-LABEL: @convolution_read_twice
// CHECK:       onnx.Conv
// CHECK:       onnx.Mul
// CHECK:       onnx.Add
func.func @convolution_read_twice(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = onnx.Constant #tile.array<f32[2, 1, 1, 1] splat 1.0>
  %c = onnx.Constant #tile.array<f32[2, 1, 1] [2.0, 3.0]>
  %y = onnx.Conv(%x, %w) : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %z = onnx.Mul(%y, %c) : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %s = onnx.Add(%y, %z) : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  func.return %s : tensor<1x2x4x4xf32>
}

// A constant that varies along the image cannot move into weights.
// CHECK-LABEL: @add_along_the_image
// CHECK:       onnx.Conv
// CHECK:       onnx.Add
func.func @add_along_the_image(%x: tensor<1x1x2x2xf32>) -> tensor<1x2x2x2xf32> {
  %w = onnx.Constant #tile.array<f32[2, 1, 1, 1] splat 1.0>
  %c = onnx.Constant #tile.array<f32[2] [2.0, 3.0]>
  %y = onnx.Conv(%x, %w) : (tensor<1x1x2x2xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x2x2xf32>
  %z = onnx.Add(%y, %c) : (tensor<1x2x2x2xf32>, tensor<2xf32>) -> tensor<1x2x2x2xf32>
  func.return %z : tensor<1x2x2x2xf32>
}

// Subtraction and division by constants join a Mul and an Add: ((x - 1) / 2) * 4 + 3 is x * 2 + 1.
// CHECK-LABEL: @arithmetic
// CHECK-DAG:   [[TWO:%.*]] = onnx.Constant #tile.array<f32[] [2.0]>
// CHECK-DAG:   [[PRODUCT:%.*]] = onnx.Mul(%x, [[TWO]])
// CHECK-DAG:   [[ONE:%.*]] = onnx.Constant #tile.array<f32[] [1.0]>
// CHECK:       onnx.Add([[PRODUCT]], [[ONE]])
// CHECK-NEXT:  func.return
func.func @arithmetic(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %c1 = onnx.Constant #tile.array<f32[] [1.0]>
  %c2 = onnx.Constant #tile.array<f32[] [2.0]>
  %c3 = onnx.Constant #tile.array<f32[] [3.0]>
  %c4 = onnx.Constant #tile.array<f32[] [4.0]>
  %0 = onnx.Sub(%x, %c1) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %1 = onnx.Div(%0, %c2) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %2 = onnx.Mul(%c4, %1) : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = onnx.Add(%c3, %2) : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %3 : tensor<2x3xf32>
}

// A number is added to each channel anyway, so that it may become one for each; but not one for each element.
// CHECK-LABEL: @offsets
// CHECK:       onnx.Mul(%x, {{%.*}}) : (tensor<1x2x2x2xf32>, tensor<2x1x1xf32>)
// CHECK:       onnx.Add({{%.*}}, {{%.*}}) : (tensor<1x2x2x2xf32>, tensor<2x1x1xf32>)
// CHECK:       onnx.Add(%y, {{%.*}}) : (tensor<1x2x2x2xf32>, tensor<f32>)
// CHECK:       onnx.Mul({{%.*}}, {{%.*}}) : (tensor<1x2x2x2xf32>, tensor<2x2xf32>)
func.func @offsets(%x: tensor<1x2x2x2xf32>, %y: tensor<1x2x2x2xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>) {
  %one = onnx.Constant #tile.array<f32[] [1.0]>
  %m = onnx.Constant #tile.array<f32[2, 1, 1] [2.0, 3.0]>
  %n = onnx.Constant #tile.array<f32[2, 2] [2.0, 3.0, 4.0, 5.0]>
  %0 = onnx.Add(%x, %one) : (tensor<1x2x2x2xf32>, tensor<f32>) -> tensor<1x2x2x2xf32>
  %1 = onnx.Mul(%0, %m) : (tensor<1x2x2x2xf32>, tensor<2x1x1xf32>) -> tensor<1x2x2x2xf32>
  %2 = onnx.Add(%y, %one) : (tensor<1x2x2x2xf32>, tensor<f32>) -> tensor<1x2x2x2xf32>
  %3 = onnx.Mul(%2, %n) : (tensor<1x2x2x2xf32>, tensor<2x2xf32>) -> tensor<1x2x2x2xf32>
  func.return %1, %3 : tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>
}

// CHECK-LABEL: @sum
// CHECK-NEXT:  [[SUM:%.*]] = onnx.Add(%a, %b)
// CHECK-NEXT:  onnx.Add([[SUM]], %c)
func.func @sum(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) -> tensor<4xf32> {
  %s = onnx.Sum(%a, %b, %c) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %s : tensor<4xf32>
}

// CHECK-LABEL: @gemm
// CHECK-DAG:   %b = onnx.Constant #tile.array<f32[2, 3] [2.0, 6.0, 10.0, 4.0, 8.0, 12.0]>
// CHECK-DAG:   %c = onnx.Constant #tile.array<f32[3] splat 0.5>
// CHECK:       onnx.Gemm(%a, %b, %c) : (tensor<1x2xf32>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<1x3xf32>
func.func @gemm(%a: tensor<1x2xf32>) -> tensor<1x3xf32> {
  %b = onnx.Constant #tile.array<f32[3, 2] [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]>
  %c = onnx.Constant #tile.array<f32[1] [1.0]>
  %y = onnx.Gemm(%a, %b, %c) {alpha = 2.0 : f32, beta = 0.5 : f32, transB = 1 : i64} : (tensor<1x2xf32>, tensor<3x2xf32>, tensor<1xf32>) -> tensor<1x3xf32>
  func.return %y : tensor<1x3xf32>
}

// A product of two activations is a MatMul.
// CHECK-LABEL: @gemm_of_activations
// CHECK-NEXT:  [[B:%.*]] = onnx.Transpose(%b)
// CHECK-NEXT:  [[Y:%.*]] = onnx.MatMul(%a, [[B]])
// CHECK-NEXT:  onnx.Add([[Y]], %c)
func.func @gemm_of_activations(%a: tensor<4x2xf32>, %b: tensor<3x2xf32>, %c: tensor<3xf32>) -> tensor<4x3xf32> {
  %y = onnx.Gemm(%a, %b, %c) {transB = 1 : i64} : (tensor<4x2xf32>, tensor<3x2xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  func.return %y : tensor<4x3xf32>
}

// CHECK-LABEL: @linear
// CHECK-NEXT:  %w = onnx.Constant
// CHECK-NEXT:  %b = onnx.Constant #tile.array<f32[3] [1.0, 2.0, 3.0]>
// CHECK-NEXT:  onnx.Gemm(%a, %w, %b)
// CHECK-NEXT:  func.return
func.func @linear(%a: tensor<1x2xf32>) -> tensor<1x3xf32> {
  %w = onnx.Constant #tile.array<f32[2, 3] splat 1.0>
  %b = onnx.Constant #tile.array<f32[3] [1.0, 2.0, 3.0]>
  %y = onnx.MatMul(%a, %w) : (tensor<1x2xf32>, tensor<2x3xf32>) -> tensor<1x3xf32>
  %z = onnx.Add(%b, %y) : (tensor<3xf32>, tensor<1x3xf32>) -> tensor<1x3xf32>
  func.return %z : tensor<1x3xf32>
}

// CHECK-LABEL: @shape_arithmetic
// CHECK-NEXT:  onnx.Constant #tile.array<i64[2] [2, -1]>
// CHECK-NEXT:  func.return
func.func @shape_arithmetic(%x: tensor<2x3x4xf32>) -> tensor<2xi64> {
  %zero = onnx.Constant #tile.array<i64[1] [0]>
  %rest = onnx.Constant #tile.array<i64[1] [-1]>
  %s = onnx.Shape(%x) : (tensor<2x3x4xf32>) -> tensor<3xi64>
  %n = onnx.Gather(%s, %zero) : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
  %t = onnx.Concat(%n, %rest) {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  func.return %t : tensor<2xi64>
}

// CHECK-LABEL: @reshapes
// CHECK-NEXT:  onnx.Reshape(%x) : (tensor<1x8x1x1xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  func.return
func.func @reshapes(%x: tensor<1x8x1x1xf32>) -> tensor<2x4xf32> {
  %0 = onnx.Squeeze(%x) {axes = array<i64: 2, 3>} : (tensor<1x8x1x1xf32>) -> tensor<1x8xf32>
  %1 = onnx.Unsqueeze(%0) {axes = array<i64: 0>} : (tensor<1x8xf32>) -> tensor<1x1x8xf32>
  %2 = onnx.Flatten(%1) {axis = 2 : i64} : (tensor<1x1x8xf32>) -> tensor<1x8xf32>
  %3 = onnx.Transpose(%2) {perm = array<i64: 1, 0>} : (tensor<1x8xf32>) -> tensor<8x1xf32>
  %4 = onnx.Reshape(%3) : (tensor<8x1xf32>) -> tensor<2x4xf32>
  func.return %4 : tensor<2x4xf32>
}

// A network keeps one op.
// CHECK-LABEL: @nothing_left
// CHECK-NEXT:  %0 = onnx.Identity(%x)
// CHECK-NEXT:  func.return %0
func.func @nothing_left(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32> {
  %zero = onnx.Constant #tile.array<f32[] [0.0]>
  %one = onnx.Constant #tile.array<f32[1] [1.0]>
  %0 = onnx.Identity(%x) : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %1 = onnx.Dropout(%0) : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %2 = onnx.Cast(%1) {to = f32} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %3 = onnx.Transpose(%2) {perm = array<i64: 1, 3, 0, 2>} : (tensor<1x2x3x4xf32>) -> tensor<2x4x1x3xf32>
  %4 = onnx.Transpose(%3) {perm = array<i64: 2, 0, 3, 1>} : (tensor<2x4x1x3xf32>) -> tensor<1x2x3x4xf32>
  %5 = onnx.Reshape(%4) : (tensor<1x2x3x4xf32>) -> tensor<6x4xf32>
  %6 = onnx.Reshape(%5) : (tensor<6x4xf32>) -> tensor<1x2x3x4xf32>
  %7 = onnx.Concat(%6) {axis = 1 : i64} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %8 = onnx.Pad(%7) {pads = array<i64: 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %9 = onnx.Clip(%8) {min = -3.40282347e+38 : f32, max = 3.40282347e+38 : f32} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %10 = onnx.Add(%9, %zero) : (tensor<1x2x3x4xf32>, tensor<f32>) -> tensor<1x2x3x4xf32>
  %11 = onnx.Div(%10, %one) : (tensor<1x2x3x4xf32>, tensor<1xf32>) -> tensor<1x2x3x4xf32>
  %12 = onnx.Sum(%11) : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %13 = onnx.MaxPool(%12) {kernel_shape = array<i64: 1, 1>} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %unused = onnx.Relu(%13) : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  func.return %13 : tensor<1x2x3x4xf32>
}

// CHECK-LABEL: @single_elements
// CHECK-NEXT:  onnx.GlobalMaxPool(%x)
// CHECK-NEXT:  func.return
func.func @single_elements(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x1x1xf32> {
  %0 = onnx.GlobalMaxPool(%x) : (tensor<1x2x3x4xf32>) -> tensor<1x2x1x1xf32>
  %1 = onnx.GlobalAveragePool(%0) : (tensor<1x2x1x1xf32>) -> tensor<1x2x1x1xf32>
  func.return %1 : tensor<1x2x1x1xf32>
}

// CHECK-LABEL: @bounds
// CHECK-NEXT:  [[A:%.*]] = onnx.Relu(%x)
// CHECK-NEXT:  [[B:%.*]] = onnx.Clip([[A]]) {min = 1.000000e+00 : f32}
// CHECK-NEXT:  onnx.Clip([[B]]) {min = 0.000000e+00 : f32, max = 6.000000e+00 : f32}
func.func @bounds(%x: tensor<4xf32>) -> tensor<4xf32> {
  %one = onnx.Constant #tile.array<f32[] [1.0]>
  %0 = onnx.Clip(%x) {min = 0.0 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = onnx.Max(%one, %0) : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = onnx.Clip(%1) {min = 0.0 : f32, max = 6.0 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}

// CHECK-LABEL: @auto_pad
// CHECK:       onnx.Conv(%x, %w) {kernel_shape = array<i64: 2, 2>, pads = array<i64: 0, 0, 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>}
func.func @auto_pad(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = onnx.Constant #tile.array<f32[2, 1, 2, 2] splat 1.0>
  %y = onnx.Conv(%x, %w) {auto_pad = "SAME_UPPER"} : (tensor<1x1x4x4xf32>, tensor<2x1x2x2xf32>) -> tensor<1x2x4x4xf32>
  func.return %y : tensor<1x2x4x4xf32>
}

// CHECK-LABEL: @pads
// CHECK-NOT:   onnx.Pad
// CHECK:       onnx.Conv(%x, %w) {kernel_shape = array<i64: 3, 3>, pads = array<i64: 1, 2, 3, 4>,
// CHECK:       onnx.AveragePool({{.*}}) {count_include_pad = 1 : i64, kernel_shape = array<i64: 2, 2>, pads = array<i64: 1, 1, 0, 0>,
// CHECK:       onnx.Relu
// CHECK:       onnx.MaxPool({{.*}}) {kernel_shape = array<i64: 2, 2>, pads = array<i64: 0, 0, 1, 1>,
func.func @pads(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x8x10xf32> {
  %w = onnx.Constant #tile.array<f32[1, 1, 3, 3] splat 1.0>
  %0 = onnx.Pad(%x) {pads = array<i64: 0, 0, 0, 1, 0, 0, 2, 3>} : (tensor<1x1x4x4xf32>) -> tensor<1x1x6x8xf32>
  %1 = onnx.Conv(%0, %w) {pads = array<i64: 1, 1, 1, 1>} : (tensor<1x1x6x8xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x6x8xf32>
  %2 = onnx.Pad(%1) {pads = array<i64: 0, 0, 1, 1, 0, 0, 0, 0>} : (tensor<1x1x6x8xf32>) -> tensor<1x1x7x9xf32>
  %3 = onnx.AveragePool(%2) {kernel_shape = array<i64: 2, 2>} : (tensor<1x1x7x9xf32>) -> tensor<1x1x6x8xf32>
  %4 = onnx.Relu(%3) : (tensor<1x1x6x8xf32>) -> tensor<1x1x6x8xf32>
  %5 = onnx.Pad(%4) {pads = array<i64: 0, 0, 0, 0, 0, 0, 1, 1>} : (tensor<1x1x6x8xf32>) -> tensor<1x1x7x9xf32>
  %6 = onnx.MaxPool(%5) {kernel_shape = array<i64: 2, 2>} : (tensor<1x1x7x9xf32>) -> tensor<1x1x6x8xf32>
  %7 = onnx.Pad(%6) {pads = array<i64: 0, 0, 1, 1, 0, 0, 1, 1>} : (tensor<1x1x6x8xf32>) -> tensor<1x1x8x10xf32>
  func.return %7 : tensor<1x1x8x10xf32>
}

// Zeros could win over negative numbers, or the padding is none of zeros: the Pad stays.
// CHECK-LABEL: @pads_that_stay
// CHECK-NEXT:  onnx.Pad
// CHECK-NEXT:  onnx.MaxPool
// CHECK-NEXT:  onnx.Pad
// CHECK-NEXT:  onnx.AveragePool
func.func @pads_that_stay(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
  %0 = onnx.Pad(%x) {pads = array<i64: 0, 0, 0, 0, 0, 0, 1, 1>} : (tensor<1x1x4x4xf32>) -> tensor<1x1x5x5xf32>
  %1 = onnx.MaxPool(%0) {kernel_shape = array<i64: 2, 2>} : (tensor<1x1x5x5xf32>) -> tensor<1x1x4x4xf32>
  %2 = onnx.Pad(%1) {pads = array<i64: 0, 0, 0, 0, 0, 0, 1, 1>, value = 1.0 : f32} : (tensor<1x1x4x4xf32>) -> tensor<1x1x5x5xf32>
  %3 = onnx.AveragePool(%2) {kernel_shape = array<i64: 2, 2>} : (tensor<1x1x5x5xf32>) -> tensor<1x1x4x4xf32>
  func.return %3 : tensor<1x1x4x4xf32>
}

// CHECK-LABEL: @global_pools
// CHECK-NEXT:  [[MEAN:%.*]] = onnx.GlobalAveragePool(%x)
// CHECK-NEXT:  [[FLAT:%.*]] = onnx.Reshape([[MEAN]]) : (tensor<1x8x1x1xf32>) -> tensor<1x8xf32>
// CHECK-NEXT:  [[POOL:%.*]] = onnx.GlobalAveragePool(%x)
// CHECK-NEXT:  func.return [[FLAT]], [[POOL]]
func.func @global_pools(%x: tensor<1x8x4x4xf32>) -> (tensor<1x8xf32>, tensor<1x8x1x1xf32>) {
  %0 = onnx.ReduceMean(%x) {axes = array<i64: -1, -2>, keepdims = 0 : i64} : (tensor<1x8x4x4xf32>) -> tensor<1x8xf32>
  %1 = onnx.AveragePool(%x) {kernel_shape = array<i64: 4, 4>, strides = array<i64: 4, 4>} : (tensor<1x8x4x4xf32>) -> tensor<1x8x1x1xf32>
  func.return %0, %1 : tensor<1x8xf32>, tensor<1x8x1x1xf32>
}

// Channels that nobody reads are not computed: of the weights, those of channels 1 and 3 are left.
// CHECK-LABEL: @narrow_layer
// CHECK-NEXT:  %w = onnx.Constant #tile.array<f32[2, 1, 1, 1] [2.0, 4.0]>
// CHECK-NEXT:  %y = onnx.Conv(%x, %w){{.*}} -> tensor<1x2x3x3xf32>
// CHECK-NEXT:  %r = onnx.Relu(%y)
// CHECK-NEXT:  func.return %r
func.func @narrow_layer(%x: tensor<1x1x3x3xf32>) -> tensor<1x2x3x3xf32> {
  %w = onnx.Constant #tile.array<f32[4, 1, 1, 1] [1.0, 2.0, 3.0, 4.0]>
  %y = onnx.Conv(%x, %w) : (tensor<1x1x3x3xf32>, tensor<4x1x1x1xf32>) -> tensor<1x4x3x3xf32>
  %r = onnx.Relu(%y) : (tensor<1x4x3x3xf32>) -> tensor<1x4x3x3xf32>
  %s = onnx.Slice(%r) {starts = array<i64: 1>, ends = array<i64: 4>, axes = array<i64: 1>, steps = array<i64: 2>} : (tensor<1x4x3x3xf32>) -> tensor<1x2x3x3xf32>
  func.return %s : tensor<1x2x3x3xf32>
}

// Nor are they if a sum stands between, whose other operand is then sliced instead.
// CHECK-LABEL: @narrow_operand
// CHECK-DAG:   %w = onnx.Constant #tile.array<f32[2, 1, 1, 1] [2.0, 4.0]>
// CHECK-DAG:   %y = onnx.Conv(%x, %w){{.*}} -> tensor<1x2x3x3xf32>
// CHECK-DAG:   [[Z:%[a-z0-9_]+]] = onnx.Slice(%z){{.*}} -> tensor<1x2x3x3xf32>
// CHECK:       [[A:%[a-z0-9_]+]] = onnx.Add(%y, [[Z]])
// CHECK-NEXT:  %r = onnx.Relu([[A]])
// CHECK-NEXT:  func.return %r
func.func @narrow_operand(%x: tensor<1x1x3x3xf32>, %z: tensor<1x4x3x3xf32>) -> tensor<1x2x3x3xf32> {
  %w = onnx.Constant #tile.array<f32[4, 1, 1, 1] [1.0, 2.0, 3.0, 4.0]>
  %y = onnx.Conv(%x, %w) : (tensor<1x1x3x3xf32>, tensor<4x1x1x1xf32>) -> tensor<1x4x3x3xf32>
  %a = onnx.Add(%y, %z) : (tensor<1x4x3x3xf32>, tensor<1x4x3x3xf32>) -> tensor<1x4x3x3xf32>
  %r = onnx.Relu(%a) : (tensor<1x4x3x3xf32>) -> tensor<1x4x3x3xf32>
  %s = onnx.Slice(%r) {starts = array<i64: 1>, ends = array<i64: 4>, axes = array<i64: 1>, steps = array<i64: 2>} : (tensor<1x4x3x3xf32>) -> tensor<1x2x3x3xf32>
  func.return %s : tensor<1x2x3x3xf32>
}

// Two sums with others stay: there would be two Slices. So does a Softmax, which needs all channels.
// CHECK-LABEL: @channels_that_are_needed
// CHECK:       onnx.Add(%y, %z)
// CHECK:       onnx.Slice(%b)
// CHECK:       onnx.Softmax(%c)
// CHECK:       onnx.Slice(%d)
func.func @channels_that_are_needed(%x: tensor<1x1x3x3xf32>, %z: tensor<1x4x3x3xf32>, %q: tensor<1x4x3x3xf32>) -> (tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>) {
  %w = onnx.Constant #tile.array<f32[4, 1, 1, 1] [1.0, 2.0, 3.0, 4.0]>
  %y = onnx.Conv(%x, %w) : (tensor<1x1x3x3xf32>, tensor<4x1x1x1xf32>) -> tensor<1x4x3x3xf32>
  %a = onnx.Add(%y, %z) : (tensor<1x4x3x3xf32>, tensor<1x4x3x3xf32>) -> tensor<1x4x3x3xf32>
  %b = onnx.Add(%a, %q) : (tensor<1x4x3x3xf32>, tensor<1x4x3x3xf32>) -> tensor<1x4x3x3xf32>
  %s = onnx.Slice(%b) {starts = array<i64: 1>, ends = array<i64: 4>, axes = array<i64: 1>, steps = array<i64: 2>} : (tensor<1x4x3x3xf32>) -> tensor<1x2x3x3xf32>
  %v = onnx.Constant #tile.array<f32[4, 1, 1, 1] [1.0, 2.0, 3.0, 5.0]>
  %c = onnx.Conv(%x, %v) : (tensor<1x1x3x3xf32>, tensor<4x1x1x1xf32>) -> tensor<1x4x3x3xf32>
  %d = onnx.Softmax(%c) {axis = 1 : i64} : (tensor<1x4x3x3xf32>) -> tensor<1x4x3x3xf32>
  %t = onnx.Slice(%d) {starts = array<i64: 1>, ends = array<i64: 4>, axes = array<i64: 1>, steps = array<i64: 2>} : (tensor<1x4x3x3xf32>) -> tensor<1x2x3x3xf32>
  func.return %s, %t : tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>
}

// A piece of what was joined is what it was before.
// CHECK-LABEL: @piece_of_a_concatenation
// CHECK-NEXT:  [[B:%[a-z0-9]+]] = onnx.Sigmoid(%x)
// CHECK-NEXT:  func.return [[B]]
func.func @piece_of_a_concatenation(%x: tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32> {
  %a = onnx.Relu(%x) : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %b = onnx.Sigmoid(%x) : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %c = onnx.Concat(%a, %b) {axis = 1 : i64} : (tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>) -> tensor<1x4x3x3xf32>
  %d, %e = onnx.Split(%c) {axis = 1 : i64, split = array<i64: 2, 2>} : (tensor<1x4x3x3xf32>) -> (tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>)
  func.return %e : tensor<1x2x3x3xf32>
}
