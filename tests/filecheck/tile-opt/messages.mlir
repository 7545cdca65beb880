// RUN: tile-opt --version | filecheck %s --check-prefix=VERSION
// VERSION: tile-opt {{[0-9]+\.[0-9]+\.[0-9]+.*}} (xdsl 0.75.{{[0-9]+}})

// RUN: tile-opt --help | filecheck %s --check-prefix=HELP
// HELP: usage: tile-opt
// HELP: --pass-pipeline PIPELINE

// RUN: tile-opt %s -p canonicalize --verbose --quiet 2>&1 | filecheck %s --check-prefix=VERBOSE
// VERBOSE: note: pass 'canonicalize': 5 ops -> 5 ops, {{[0-9.]+}} s
func.func @main(%a: i32) -> i32 {
  %0 = arith.constant 1 : i32
  %1 = arith.addi %a, %0 : i32
  func.return %1 : i32
}
