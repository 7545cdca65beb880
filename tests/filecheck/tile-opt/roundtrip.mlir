// RUN: tile-opt %s | filecheck %s
// RUN: tile-opt %s | tile-opt | filecheck %s
// RUN: tile-opt - < %s | filecheck %s

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @main(%a: i32) -> i32 {
// CHECK-NEXT:     %0 = arith.addi %a, %a : i32
// CHECK-NEXT:     func.return %0 : i32
// CHECK-NEXT:   }
// CHECK-NEXT: }
func.func @main(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  func.return %0 : i32
}
