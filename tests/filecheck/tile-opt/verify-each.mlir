// RUN: not tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p test-break,test-mark 2>&1 | filecheck %s
// RUN: not tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p test-break,test-mark --verify-each 2>&1 | filecheck %s
// RUN: tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p test-break,test-break --no-verify-each --guard=off | filecheck %s --check-prefix=UNCHECKED
// RUN: tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p test-break,test-break --verify-each=false --guard=off | filecheck %s --check-prefix=UNCHECKED
// CHECK: error: {{.*}}verify-each.mlir:11:3: 'arith.addi' op operand #1 does not dominate this use: it is defined later in the block, at {{.*}}verify-each.mlir:10:3
// CHECK: error: pass 'test-break': left an invalid module; this is an error in the pass

// UNCHECKED: func.func @main
func.func @main(%a: i32) -> i32 {
  %0 = arith.constant 1 : i32
  %1 = arith.addi %a, %0 : i32
  func.return %1 : i32
}
