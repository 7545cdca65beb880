// RUN: tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py --pass-pipeline='builtin.module(func.func(test-mark-functions))' | filecheck %s
// RUN: tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p test-mark-functions | filecheck %s
// CHECK: func.func @f() attributes {marked}

// RUN: not tile-opt %s --pass-pipeline='builtin.module(func.func(cse))' 2>&1 | filecheck %s --check-prefix=MODULE
// MODULE: error: --pass-pipeline:1:26: pass 'cse' runs on the whole module, not on 'func.func'; write 'cse' directly in 'builtin.module(...)'

// RUN: not tile-opt %s --pass-pipeline='builtin.module(func.fun(cse))' 2>&1 | filecheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: --pass-pipeline:1:16: no pass runs on 'func.fun'; did you mean 'func.func'?

// RUN: not tile-opt %s --pass-pipeline='builtin.module(builtin.module(cse))' 2>&1 | filecheck %s --check-prefix=NESTED
// NESTED: error: --pass-pipeline:1:16: 'builtin.module' cannot be nested or stand beside other passes

// RUN: not tile-opt %s --pass-pipeline='cse(dce)' 2>&1 | filecheck %s --check-prefix=PASS
// PASS: error: --pass-pipeline:1:1: 'cse' is a pass, not an anchor; give options in braces
func.func @f() {
  func.return
}
