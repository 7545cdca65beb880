// RUN: tile-opt %s --print-debuginfo | filecheck %s
// RUN: tile-opt %s --mlir-print-debuginfo | filecheck %s
// An op has the location that the text says, or else its place in the text.
// CHECK: func.func @main(
// CHECK: arith.constant 1 : i32 loc("conv1")
// CHECK: func.return {{.*}} loc("{{.*}}print-debuginfo.mlir":9:3)
func.func @main() -> i32 {
  %0 = arith.constant 1 : i32 loc("conv1")
  func.return %0 : i32
}
