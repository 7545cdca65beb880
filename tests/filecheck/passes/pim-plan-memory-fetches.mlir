// RUN: tile-opt %s -p pim-plan-memory | filecheck %s

// A constant takes memory from the step on at which it is fetched, the earliest of those of the batches that read it; on
// other cores from the first lane on.
builtin.module attributes {tile.machine = "tiny4"} {
  pim.program {
    %b = pim.constant <f32[1, 2] splat 1.0> : tensor<2x2xf32>
    // CHECK: pim.constant_rows {{.*}} at <i64[2, 3] [1, {{[0-9]+}}, 3, 2, {{[0-9]+}}, 9]>
    %rb = pim.constant_rows %b : tensor<2x2xf32> -> memref<2x2xf32>
    %ry = pim.rows pad 0, 0 slack 0 : memref<2x2x2xf32>
    // CHECK: pim.core_batch lanes 2 replicas 2 cores <i32[2] [1, 2]> steps <i64[2] [7, 9]> fetches <i64[1, 3] [0, 1, 5]>
    pim.core_batch lanes 2 replicas 2 cores <i32[2] [1, 2]> steps <i64[2] [7, 9]> fetches <i64[1, 3] [0, 1, 5]> ins() windows [] constants(%rb : memref<2x2xf32>) matrices() outs(%ry : memref<2x2x2xf32>) {
    ^bb0(%c: memref<2x2xf32>, %out: memref<2x2xf32>):
      pim.issue "vrelu" length 4 repeat 1 (%c : memref<2x2xf32>) [#pim.access<>] into %out : memref<2x2xf32> #pim.access<>
      pim.end
    }
    %rz = pim.rows pad 0, 0 slack 0 : memref<1x2x2xf32>
    pim.core_batch lanes 1 replicas 1 cores <i32[1] [1]> steps <i64[1] [20]> fetches <i64[1, 3] [0, 1, 3]> ins() windows [] constants(%rb : memref<2x2xf32>) matrices() outs(%rz : memref<1x2x2xf32>) {
    ^bb0(%c: memref<2x2xf32>, %out: memref<2x2xf32>):
      pim.issue "vrelu" length 4 repeat 1 (%c : memref<2x2xf32>) [#pim.access<>] into %out : memref<2x2xf32> #pim.access<>
      pim.end
    }
  }
}
