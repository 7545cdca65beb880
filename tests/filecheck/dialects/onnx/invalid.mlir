// RUN: tile-opt %s --verify-diagnostics --split-input-file --allow-unregistered-dialect --quiet

%x = "test.value"() : () -> tensor<1x?xf32>
// expected-error@+1 {{has a dynamic dimension; bind it on import with --dim NAME=N}}
%y = onnx.Relu(%x) : (tensor<1x?xf32>) -> tensor<1x?xf32>

// -----

%x = "test.value"() : () -> tensor<1x3x8x8xf32>
%w = "test.value"() : () -> tensor<4x2x3x3xf32>
// expected-error@+1 {{onnx.Conv: x has 3 channels, w takes 2 in each of 1 groups}}
%y = onnx.Conv(%x, %w) : (tensor<1x3x8x8xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x6x6xf32>

// -----

%x = "test.value"() : () -> tensor<1x3xf32>
// The message names the node.
// expected-error@unknown {{onnx.Relu at node '/layer1/relu': result type is tensor<1x4xf32>, expected tensor<1x3xf32>}}
%y = onnx.Relu(%x) : (tensor<1x3xf32>) -> tensor<1x4xf32> loc("/layer1/relu")

// -----

%x = "test.value"() : () -> tensor<1x3xf32>
// expected-error@+1 {{onnx.Relu: has no attribute 'slope'}}
%y = onnx.Relu(%x) {slope = 1 : i64} : (tensor<1x3xf32>) -> tensor<1x3xf32>

// -----

// expected-error@+1 {{#tile.array expected}}
%c = onnx.Constant dense<1.0> : tensor<2xf32>

// -----

// expected-error@+1 {{array of shape [2] has 2 elements, 1 given}}
%c = onnx.Constant #tile.array<f32[2] [1.0]>
