// RUN: tile-opt %s -p pim-plan-memory | filecheck %s

// A lane of the second batch runs where one of the first stands still, so that their tiles have places of their own. A
// lane of the third runs behind both, and its tiles share the first place.
builtin.module attributes {tile.machine = "tiny4"} {
  pim.program {
    %x = pim.input "x" shape <i64[4] [1, 2, 1, 2]> : tensor<1x2x2xf32>
    %rx = pim.rows pad 0, 0 slack 0 : memref<1x2x2xf32>
    pim.load %x : tensor<1x2x2xf32> rows <i64[1, 3] [0, 1, 0]> into %rx : memref<1x2x2xf32>
    %ry = pim.rows pad 0, 0 slack 0 : memref<1x2x2xf32>
    // CHECK: pim.core_batch lanes 1 replicas 1 cores <i32[1] [1]> steps <i64[1] [0]> spans <i64[1] [1000]> resumes <i64[1, 3] [0, 25, 500]>
    pim.core_batch lanes 1 replicas 1 cores <i32[1] [1]> steps <i64[1] [0]> spans <i64[1] [1000]> resumes <i64[1, 3] [0, 25, 500]> ins(%rx : memref<1x2x2xf32>) windows [#spat.window<height 1, lanes 1>] constants() matrices() outs(%ry : memref<1x2x2xf32>) {
    ^bb0(%rows: memref<1x2x2xf32>, %out: memref<2x2xf32>):
      // CHECK: pim.alloc slack 0 at <i64[1, 2] [1, [[FIRST:[0-9]+]]]>
      %0 = pim.alloc slack 0 : memref<2x2xf32>
      pim.issue "vtanh" length 4 repeat 1 (%rows : memref<1x2x2xf32>) [#pim.access<>] into %0 : memref<2x2xf32> #pim.access<>
      pim.issue "vrelu" length 4 repeat 1 (%0 : memref<2x2xf32>) [#pim.access<>] into %out : memref<2x2xf32> #pim.access<>
      pim.end
    }
    %rz = pim.rows pad 0, 0 slack 0 : memref<1x2x2xf32>
    pim.core_batch lanes 1 replicas 1 cores <i32[1] [1]> steps <i64[1] [30]> spans <i64[1] [400]> ins(%rx : memref<1x2x2xf32>) windows [#spat.window<height 1, lanes 1>] constants() matrices() outs(%rz : memref<1x2x2xf32>) {
    ^bb0(%rows: memref<1x2x2xf32>, %out: memref<2x2xf32>):
      // CHECK-NOT: [1, [[FIRST]]]
      // CHECK: pim.alloc slack 0 at <i64[1, 2] [1, {{[0-9]+}}]>
      %0 = pim.alloc slack 0 : memref<2x2xf32>
      pim.issue "vtanh" length 4 repeat 1 (%rows : memref<1x2x2xf32>) [#pim.access<>] into %0 : memref<2x2xf32> #pim.access<>
      pim.issue "vrelu" length 4 repeat 1 (%0 : memref<2x2xf32>) [#pim.access<>] into %out : memref<2x2xf32> #pim.access<>
      pim.end
    }
    %ru = pim.rows pad 0, 0 slack 0 : memref<1x2x2xf32>
    pim.core_batch lanes 1 replicas 1 cores <i32[1] [1]> steps <i64[1] [1000]> ins(%rx : memref<1x2x2xf32>) windows [#spat.window<height 1, lanes 1>] constants() matrices() outs(%ru : memref<1x2x2xf32>) {
    ^bb0(%rows: memref<1x2x2xf32>, %out: memref<2x2xf32>):
      // CHECK: pim.alloc slack 0 at <i64[1, 2] [1, [[FIRST]]]>
      %0 = pim.alloc slack 0 : memref<2x2xf32>
      pim.issue "vtanh" length 4 repeat 1 (%rows : memref<1x2x2xf32>) [#pim.access<>] into %0 : memref<2x2xf32> #pim.access<>
      pim.issue "vrelu" length 4 repeat 1 (%0 : memref<2x2xf32>) [#pim.access<>] into %out : memref<2x2xf32> #pim.access<>
      pim.end
    }
  }
}
