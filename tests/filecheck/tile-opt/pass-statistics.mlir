// RUN: tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p test-mark,test-nothing --pass-statistics --quiet 2>&1 | filecheck %s
// RUN: tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p test-mark,test-nothing --mlir-pass-statistics --quiet 2>&1 | filecheck %s
// CHECK:      ... Pass statistics report ...
// CHECK:      'test-mark'
// CHECK-NEXT:   (S) 1 modules marked
// CHECK-NEXT:   (S) 4 ops seen
// CHECK-NEXT: 'test-nothing'
func.func @main(%a: i32) -> i32 {
  %0 = arith.constant 1 : i32
  %1 = arith.addi %a, %0 : i32
  func.return %1 : i32
}
