// RUN: tile-opt %s --elide-larger-than=2 --emit-resources %t.npz -o %t.mlir
// RUN: cat %t.mlir | filecheck %s --check-prefix=ELIDED
// RUN: tile-opt %t.mlir --resources %t.npz | filecheck %s
// ELIDED: #tile.array<i32[4] @"{{[0-9a-f]+}}">
// CHECK: #tile.array<i32[4] [1, 2, 3, 4]>

// RUN: not tile-opt %s --resources %t.none.npz 2>&1 | filecheck %s --check-prefix=MISSING
// MISSING: error: {{.*}}.none.npz: cannot read resources
// RUN: not tile-opt %s --resources %s 2>&1 | filecheck %s --check-prefix=WRONG
// WRONG: error: {{.*}}resources.mlir: cannot read resources
// RUN: not tile-opt %s --split-input-file --emit-resources %t.npz 2>&1 | filecheck %s --check-prefix=SPLIT
// SPLIT: error: --emit-resources: one file cannot serve several modules; drop --split-input-file
builtin.module attributes {table = #tile.array<i32[4] [1, 2, 3, 4]>} {
}
