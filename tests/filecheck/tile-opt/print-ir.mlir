// RUN: tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p test-mark,canonicalize --print-ir-after-all --quiet 2>&1 | filecheck %s --check-prefix=AFTER-ALL
// RUN: tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p test-mark,canonicalize --mlir-print-ir-after-all --quiet 2>&1 | filecheck %s --check-prefix=AFTER-ALL
// AFTER-ALL:      // -----// IR Dump After TestMarkPass (test-mark) //----- //
// AFTER-ALL-NEXT: builtin.module attributes {marked} {
// AFTER-ALL:      // -----// IR Dump After CanonicalizePass (canonicalize) //----- //

// RUN: tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p test-mark,canonicalize --print-ir-before-all --quiet 2>&1 | filecheck %s --check-prefix=BEFORE-ALL
// BEFORE-ALL:      // -----// IR Dump Before TestMarkPass (test-mark) //----- //
// BEFORE-ALL-NEXT: builtin.module {
// BEFORE-ALL:      // -----// IR Dump Before CanonicalizePass (canonicalize) //----- //
// BEFORE-ALL-NEXT: builtin.module attributes {marked} {

// RUN: tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p test-mark,canonicalize --print-ir-before=canonicalize --print-ir-after=test-mark --quiet 2>&1 | filecheck %s --check-prefix=NAMED
// NAMED-NOT: Dump Before TestMarkPass
// NAMED:     // -----// IR Dump After TestMarkPass (test-mark) //----- //
// NAMED:     // -----// IR Dump Before CanonicalizePass (canonicalize) //----- //
// NAMED-NOT: Dump After CanonicalizePass

// RUN: tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p test-nothing,test-mark,test-mark --print-ir-after-change --quiet 2>&1 | filecheck %s --check-prefix=CHANGE
// RUN: tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p test-nothing,test-mark,test-mark --print-ir-after-all --print-ir-after-change --quiet 2>&1 | filecheck %s --check-prefix=CHANGE
// CHANGE-NOT: test-nothing
// CHANGE:     // -----// IR Dump After TestMarkPass (test-mark) //----- //
// CHANGE-NOT: IR Dump

// RUN: not tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p test-mark,test-give-up --print-ir-after-failure --quiet 2>&1 | filecheck %s --check-prefix=FAILURE
// FAILURE-NOT:  TestMarkPass
// FAILURE:      // -----// IR Dump After Failure Of TestGiveUpPass (test-give-up) //----- //
// FAILURE-NEXT: builtin.module attributes {marked} {
// FAILURE:      error: pass 'test-give-up': cannot do this

// Dumps are no part of the result.
// RUN: tile-opt %s -p canonicalize --print-ir-after-all 2> %t | filecheck %s --check-prefix=STDOUT
// STDOUT-NOT: IR Dump

// RUN: not tile-opt %s -p canonicalize --print-ir-after=canonicalise 2>&1 | filecheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: --print-ir-after: unknown pass 'canonicalise'; did you mean 'canonicalize'?
func.func @main(%a: i32) -> i32 {
  %0 = arith.constant 1 : i32
  %1 = arith.addi %a, %0 : i32
  func.return %1 : i32
}
