// RUN: bash -c 'tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p test-crash; test $? -eq 1' 2>&1 | filecheck %s
// RUN: bash -c 'tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p test-crash --verbose; test $? -eq 1' 2>&1 | filecheck %s --check-prefix=VERBOSE
// CHECK-NOT: Traceback
// CHECK: error: tile-opt: pass 'test-crash' failed: KeyError: 'lost'; this is an error in the pass; --verbose prints where
// VERBOSE: Traceback
// VERBOSE: error: tile-opt: pass 'test-crash' failed
