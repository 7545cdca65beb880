// RUN: tile-opt %s -p 'convert-onnx-to-spat{machine=tiny4 replicate=false}' | filecheck %s

// A vector of 4224 elements takes 33 arrays of 128 rows. A core has 8 arrays, so that there are five parts; their results are
// added in a tree, at most four at a time.
// CHECK:      [[X:%[0-9]+]] = spat.input
// CHECK:      [[A:%[0-9]+]] = spat.compute_batch lanes 1 ins([[X]] : {{.*}} weights({{.*}} : tensor<896x128xf32>) -> tensor<1x1x128xf32> {
// CHECK:      [[B:%[0-9]+]] = spat.compute_batch lanes 1 ins([[X]] : {{.*}} weights({{.*}} : tensor<896x128xf32>) -> tensor<1x1x128xf32> {
// CHECK:      [[C:%[0-9]+]] = spat.compute_batch lanes 1 ins([[X]] : {{.*}} weights({{.*}} : tensor<896x128xf32>) -> tensor<1x1x128xf32> {
// CHECK:      [[D:%[0-9]+]] = spat.compute_batch lanes 1 ins([[X]] : {{.*}} weights({{.*}} : tensor<768x128xf32>) -> tensor<1x1x128xf32> {
// CHECK:      [[E:%[0-9]+]] = spat.compute_batch lanes 1 ins([[X]] : {{.*}} weights({{.*}} : tensor<768x128xf32>) -> tensor<1x1x128xf32> {
// CHECK:      [[S:%[0-9]+]] = spat.compute_batch lanes 1 ins([[A]], [[B]], [[C]] :
// CHECK-COUNT-2: spat.vadd
// CHECK:      [[T:%[0-9]+]] = spat.compute_batch lanes 1 ins([[D]], [[E]] :
// CHECK:        spat.vadd
// CHECK:      [[U:%[0-9]+]] = spat.compute_batch lanes 1 ins([[S]], [[T]] :
// CHECK:        spat.vadd
// CHECK:      spat.output "output0" {{.*}} [[U]] :
func.func @main(%x: tensor<1x4224x1x1xf32>) -> tensor<1x128x1x1xf32> {
  %w = onnx.Constant #tile.array<f32[128, 4224, 1, 1] splat 0.5>
  %y = onnx.Conv(%x, %w) {kernel_shape = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x4224x1x1xf32>, tensor<128x4224x1x1xf32>) -> tensor<1x128x1x1xf32>
  func.return %y : tensor<1x128x1x1xf32>
}
