// RUN: not tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p test-mark,test-give-up --crash-reproducer=%t.mlir 2>&1 | filecheck %s --check-prefix=NOTE
// RUN: cat %t.mlir | filecheck %s
// NOTE: note: {{.*}}.mlir: reproduces the failure of pass 'test-give-up'
// NOTE: error: pass 'test-give-up': cannot do this
// CHECK: // {{R}}UN: tile-opt %s --load-pass-plugin={{/.*}}/inputs/passes_for_tests.py '--pass-pipeline=builtin.module(test-give-up)'
// CHECK: // error: pass 'test-give-up': cannot do this
// CHECK: "builtin.module"() ({
// CHECK: }) {marked}

// Without a failure there is no reproducer.
// RUN: tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p test-mark --mlir-pass-pipeline-crash-reproducer=%t.none --quiet
// RUN: not cat %t.none
func.func @main(%a: i32) -> i32 {
  %0 = arith.constant 1 : i32
  %1 = arith.addi %a, %0 : i32
  func.return %1 : i32
}
