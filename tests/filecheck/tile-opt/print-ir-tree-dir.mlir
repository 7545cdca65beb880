// RUN: tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p test-mark,test-mark --print-ir-tree-dir=%t.dir --quiet
// RUN: cat %t.dir/builtin_module_no-symbol-name/0_test-mark.mlir | filecheck %s
// RUN: cat %t.dir/builtin_module_no-symbol-name/1_test-mark.mlir | filecheck %s
// RUN: tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p test-mark --mlir-print-ir-tree-dir=%t.before --print-ir-before=test-mark --quiet
// RUN: cat %t.before/builtin_module_no-symbol-name/0_test-mark_before.mlir | filecheck %s --check-prefix=BEFORE
// CHECK: builtin.module attributes {marked} {
// BEFORE: builtin.module {
func.func @main(%a: i32) -> i32 {
  %0 = arith.constant 1 : i32
  %1 = arith.addi %a, %0 : i32
  func.return %1 : i32
}
