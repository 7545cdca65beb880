// RUN: tile-opt %s --allow-unregistered-dialect | filecheck %s
// RUN: not tile-opt %s 2>&1 | filecheck %s --check-prefix=REFUSED
// CHECK: "unknown.op"() : () -> ()
// REFUSED: error: {{.*}}allow-unregistered-dialect.mlir:5:{{[0-9]+}}: Operation unknown.op is not registered
"unknown.op"() : () -> ()
