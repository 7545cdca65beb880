// RUN: tile-opt %s -p canonicalize,cse --timing --quiet 2>&1 | filecheck %s
// RUN: tile-opt %s -p canonicalize,cse --mlir-timing --quiet 2>&1 | filecheck %s
// CHECK:      ... Execution time report ...
// CHECK:      Total Execution Time: {{[0-9.]+}} seconds
// CHECK:      ----Wall Time----  ----Name----
// CHECK-NEXT: ({{ *[0-9.]+}}%)  Pipeline
// CHECK-NEXT: Parser
// CHECK-NEXT: Guard
// CHECK-NEXT: Verifier
// CHECK-NEXT: canonicalize
// CHECK-NEXT: cse
// CHECK-NEXT: Output
// CHECK-NEXT: Rest
// CHECK-NEXT: (100.0%)  Total
func.func @main(%a: i32) -> i32 {
  %0 = arith.constant 1 : i32
  %1 = arith.addi %a, %0 : i32
  func.return %1 : i32
}
