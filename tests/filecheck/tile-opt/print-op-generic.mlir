// RUN: tile-opt %s --print-op-generic | filecheck %s
// RUN: tile-opt %s --mlir-print-op-generic | filecheck %s
// RUN: tile-opt %s --mlir-print-op-generic=false | filecheck %s --check-prefix=CUSTOM
// RUN: tile-opt %s --print-op-generic | tile-opt | filecheck %s --check-prefix=CUSTOM
// CHECK: "builtin.module"() ({
// CHECK: "arith.addi"(%a, %0)
// CUSTOM: arith.addi %a, %0
func.func @main(%a: i32) -> i32 {
  %0 = arith.constant 1 : i32
  %1 = arith.addi %a, %0 : i32
  func.return %1 : i32
}
