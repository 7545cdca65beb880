// RUN: bash -c 'tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p test-crash; test $? -eq 70' 2>&1 | filecheck %s
// RUN: bash -c 'tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p test-crash --verbose; test $? -eq 70' 2>&1 | filecheck %s --check-prefix=VERBOSE
// CHECK-NOT: Traceback
// CHECK: error: tile-opt: internal error: pass 'test-crash' failed: KeyError: 'lost'; this is an error in the compiler
// VERBOSE: Traceback
// VERBOSE: error: tile-opt: internal error: pass 'test-crash' failed
