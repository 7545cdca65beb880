// RUN: tile-opt %s --elide-larger-than=3 | filecheck %s
// RUN: tile-opt %s --mlir-elide-elementsattrs-if-larger=3 | filecheck %s
// RUN: tile-opt %s --elide-larger-than=4 | filecheck %s --check-prefix=FULL
// RUN: tile-opt %s -p canonicalize --print-ir-before-all --quiet --elide-larger-than=3 2>&1 | filecheck %s
// CHECK: #tile.array<i32[4] @"{{[0-9a-f]+}}">
// CHECK: arith.constant dense_resource<__elided__> : tensor<4xi32>
// FULL:  #tile.array<i32[4] [1, 2, 3, 4]>
// FULL:  arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
func.func @main() -> tensor<4xi32> attributes {table = #tile.array<i32[4] [1, 2, 3, 4]>} {
  %0 = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  func.return %0 : tensor<4xi32>
}

// RUN: not tile-opt %s --elide-larger-than=some 2>&1 | filecheck %s --check-prefix=ERROR
// ERROR: error: tile-opt: argument --elide-larger-than/--mlir-elide-elementsattrs-if-larger: expected a number of elements, not 'some'; see --help
