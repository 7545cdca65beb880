// RUN: tile-opt %s -p canonicalize,cse | filecheck %s
// RUN: tile-opt %s --passes=canonicalize,cse | filecheck %s
// RUN: tile-opt %s --pass-pipeline='builtin.module(canonicalize,cse)' | filecheck %s
// RUN: tile-opt %s --pass-pipeline='any( canonicalize , cse{} )' | filecheck %s
// RUN: tile-opt %s -pass-pipeline='canonicalize,cse' | filecheck %s
// RUN: tile-opt %s --canonicalize --cse | filecheck %s
// RUN: tile-opt %s --pass-pipeline= | filecheck %s --check-prefix=NONE

// CHECK:      func.func @main(%a: i32) -> i32 {
// CHECK-NEXT:   func.return %a : i32
// NONE: arith.addi
func.func @main(%a: i32) -> i32 {
  %0 = arith.constant 0 : i32
  %1 = arith.addi %a, %0 : i32
  func.return %1 : i32
}
