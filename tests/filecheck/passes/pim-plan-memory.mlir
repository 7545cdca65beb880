// RUN: tile-opt %s -p pim-plan-memory | filecheck %s
// RUN: tile-opt %s -p pim-plan-memory,pim-plan-memory | filecheck %s
// RUN: tile-opt %s -p pim-plan-memory --pass-statistics 2>&1 | filecheck %s --check-prefix STATISTICS

// STATISTICS: {{[0-9]+}} peak bytes

builtin.module attributes {tile.machine = "tiny4"} {
  // Core 1 reads a row above the image: it holds 4 zeros. The fullest core is core 1.
  // CHECK: pim.program zeros <i64[1, 3] [1, {{[0-9]+}}, 4]> peak <i64[4] [0, {{[0-9]+}}, {{[0-9]+}}, 0]> {
  pim.program {
    %x = pim.input "x" shape <i64[4] [1, 2, 4, 2]> : tensor<4x2x2xf32>
    // Four rows go through two slots of core 1, of which each is read by two lanes at most.
    // CHECK: pim.rows pad 0, 0 slack 0 at <i64[4, 3] [1, 0, [[A:[0-9]+]], 1, 1, [[B:[0-9]+]], 1, 2, [[A]], 1, 3, [[B]]]> rings <i64[1, 4] [1, {{[0-9]+}}, 8, {{[0-9]+}}]> : memref<4x2x2xf32>
    %rx = pim.rows pad 0, 0 slack 0 : memref<4x2x2xf32>
    pim.load %x : tensor<4x2x2xf32> rows <i64[4, 3] [0, 1, 0, 1, 1, 10, 2, 1, 20, 3, 1, 30]> into %rx : memref<4x2x2xf32>
    %b = pim.constant <f32[1, 2] splat 1.0> : tensor<2x2xf32>
    // A constant is there from the first step that needs it.
    // CHECK: pim.constant_rows {{.*}} at <i64[1, 3] [1, [[HELD:[0-9]+]], 0]>
    %rb = pim.constant_rows %b : tensor<2x2xf32> -> memref<2x2xf32>
    // Core 2 receives one row.
    // CHECK: pim.rows pad 0, 0 slack 0 at <i64[5, 3] [1, 0, {{[0-9]+}}, 1, 1, {{[0-9]+}}, 1, 2, {{[0-9]+}}, 1, 3, {{[0-9]+}}, 2, 1, {{[0-9]+}}]>
    %ry = pim.rows pad 0, 0 slack 0 : memref<4x2x2xf32>
    pim.core_batch lanes 4 replicas 1 cores <i32[1] [1]> steps <i64[4] [0, 10, 20, 30]> ins(%rx : memref<4x2x2xf32>) windows [#spat.window<height 4, lanes 4, rows 2, pad_top 1>] constants(%rb : memref<2x2xf32>) matrices() outs(%ry : memref<4x2x2xf32>) {
    ^bb0(%rows: memref<2x2x2xf32>, %c: memref<2x2xf32>, %out: memref<2x2xf32>):
      // Tiles that do not live at the same time share their place.
      // CHECK: pim.alloc slack 0 at <i64[1, 2] [1, [[T:[0-9]+]]]>
      // CHECK: pim.alloc slack 0 at <i64[1, 2] [1, [[U:[0-9]+]]]>
      // CHECK: pim.alloc slack 0 at <i64[1, 2] [1, [[T]]]>
      %0 = pim.alloc slack 0 : memref<2x2xf32>
      pim.issue "vvmax" length 4 repeat 1 (%rows, %rows : memref<2x2x2xf32>, memref<2x2x2xf32>) [#pim.access<>, #pim.access<row 1>] into %0 : memref<2x2xf32> #pim.access<>
      %1 = pim.alloc slack 0 : memref<2x2xf32>
      pim.issue "vvadd" length 4 repeat 1 (%0, %c : memref<2x2xf32>, memref<2x2xf32>) [#pim.access<>, #pim.access<>] into %1 : memref<2x2xf32> #pim.access<>
      %2 = pim.alloc slack 0 : memref<2x2xf32>
      pim.issue "vtanh" length 4 repeat 1 (%1 : memref<2x2xf32>) [#pim.access<>] into %2 : memref<2x2xf32> #pim.access<>
      pim.issue "vrelu" length 4 repeat 1 (%2 : memref<2x2xf32>) [#pim.access<>] into %out : memref<2x2xf32> #pim.access<>
      pim.end
    }
    pim.transfer %ry messages <i64[1, 4] [1, 1, 2, 15]> : memref<4x2x2xf32>
    // CHECK: pim.rows pad 0, 0 slack 0 at <i64[1, 3] [2, 0, {{[0-9]+}}]>
    %rz = pim.rows pad 0, 0 slack 0 : memref<1x2x2xf32>
    pim.core_batch lanes 1 replicas 1 cores <i32[1] [2]> steps <i64[1] [40]> ins(%ry : memref<4x2x2xf32>) windows [#spat.window<height 4, lanes 1, pad_top -1>] constants() matrices() outs(%rz : memref<1x2x2xf32>) {
    ^bb0(%rows: memref<1x2x2xf32>, %out: memref<2x2xf32>):
      pim.issue "vrelu" length 4 repeat 1 (%rows : memref<1x2x2xf32>) [#pim.access<>] into %out : memref<2x2xf32> #pim.access<>
      pim.end
    }
    // Lanes of this batch alternate with those of the first one on core 1: all tiles share one frame.
    %ru = pim.rows pad 0, 0 slack 0 : memref<2x2x2xf32>
    pim.core_batch lanes 2 replicas 1 cores <i32[1] [1]> steps <i64[2] [12, 31]> spans <i64[2] [8, 1]> ins(%rx : memref<4x2x2xf32>) windows [#spat.window<height 4, lanes 2, stride 2>] constants() matrices() outs(%ru : memref<2x2x2xf32>) {
    ^bb0(%rows: memref<1x2x2xf32>, %out: memref<2x2xf32>):
      // CHECK: pim.alloc slack 0 at <i64[1, 2] [1, [[T]]]>
      %0 = pim.alloc slack 0 : memref<2x2xf32>
      pim.issue "vtanh" length 4 repeat 1 (%rows : memref<1x2x2xf32>) [#pim.access<>] into %0 : memref<2x2xf32> #pim.access<>
      pim.issue "vrelu" length 4 repeat 1 (%0 : memref<2x2xf32>) [#pim.access<>] into %out : memref<2x2xf32> #pim.access<>
      pim.end
    }
    // What is needed only now takes the place of what is needed no more.
    %d = pim.constant <f32[1, 2] splat 2.0> : tensor<2x2xf32>
    // CHECK: pim.constant_rows {{.*}} at <i64[1, 3] [1, {{[0-9]+}}, 50]>
    %rd = pim.constant_rows %d : tensor<2x2xf32> -> memref<2x2xf32>
    %rv = pim.rows pad 0, 0 slack 0 : memref<1x2x2xf32>
    pim.core_batch lanes 1 replicas 1 cores <i32[1] [1]> steps <i64[1] [50]> ins() windows [] constants(%rd : memref<2x2xf32>) matrices() outs(%rv : memref<1x2x2xf32>) {
    ^bb0(%c: memref<2x2xf32>, %out: memref<2x2xf32>):
      // CHECK: pim.alloc slack 0 at <i64[1, 2] [1, {{[0-9]+}}]>
      %0 = pim.alloc slack 0 : memref<2x2xf32>
      pim.issue "vtanh" length 4 repeat 1 (%c : memref<2x2xf32>) [#pim.access<>] into %0 : memref<2x2xf32> #pim.access<>
      pim.issue "vrelu" length 4 repeat 1 (%0 : memref<2x2xf32>) [#pim.access<>] into %out : memref<2x2xf32> #pim.access<>
      pim.end
    }
    pim.output "z" shape <i64[4] [1, 2, 1, 2]> channels [#tile.array<i32[2] [0, 1]>] %rz : memref<1x2x2xf32>
  }
}
