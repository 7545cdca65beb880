// RUN: tile-opt %s -o %t.mlir | filecheck %s --check-prefix=STDOUT --allow-empty
// RUN: cat %t.mlir | filecheck %s
// RUN: tile-opt %s -o - | filecheck %s
// RUN: tile-opt %s --quiet | filecheck %s --check-prefix=STDOUT --allow-empty
// RUN: not tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p test-give-up -o %t.none && not cat %t.none
// CHECK: func.func @main
// STDOUT-NOT: {{.}}
func.func @main(%a: i32) -> i32 {
  %0 = arith.constant 1 : i32
  %1 = arith.addi %a, %0 : i32
  func.return %1 : i32
}
