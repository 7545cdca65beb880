// RUN: tile-opt %s -p cse,pim-bufferize | filecheck %s
// RUN: tile-opt %s -p cse | filecheck %s --check-prefix CSE

// `pim.empty` is pure, so that two of them may become one. Each instruction that writes into it still has a tile of its
// own: no copy is added, the row that is yielded is formed in its place, and the guard accepts that.

builtin.module attributes {tile.machine = "tiny4"} {
  pim.program {
    %x = pim.input "x" shape <i64[4] [1, 2, 1, 3]> : tensor<1x3x2xf32>
    %l = pim.load %x : tensor<1x3x2xf32> rows <i64[1, 3] [0, 0, 0]> -> tensor<1x3x2xf32>
    // CHECK: pim.core_batch
    // CHECK-NEXT: ^{{.*}}([[R:%.*]]: memref<1x3x2xf32>, [[OUT:%.*]]: memref<3x2xf32>):
    %y = pim.core_batch lanes 1 replicas 1 cores <i32[1] [0]> steps <i64[1] [0]> ins(%l : tensor<1x3x2xf32>) windows [#spat.window<height 1, lanes 1>] constants() matrices() outs() -> tensor<1x3x2xf32> {
    ^bb0(%r: tensor<1x3x2xf32>):
      // CSE: [[E:%.*]] = pim.empty
      // CSE-NEXT: pim.issue "vrelu" {{.*}} into [[E]]
      // CSE-NEXT: pim.issue "vtanh" {{.*}} into [[E]]
      // CSE-NEXT: pim.issue "vvadd" {{.*}} into [[E]]
      // CHECK-NEXT: [[A:%.*]] = pim.alloc slack 0 : memref<3x2xf32>
      // CHECK-NEXT: pim.issue "vrelu" length 6 repeat 1 ([[R]] : memref<1x3x2xf32>) [#pim.access<>] into [[A]]
      %0 = pim.empty : tensor<3x2xf32>
      %1 = pim.issue "vrelu" length 6 repeat 1 (%r : tensor<1x3x2xf32>) [#pim.access<>] into %0 : tensor<3x2xf32> #pim.access<> -> tensor<3x2xf32>
      // CHECK-NEXT: [[B:%.*]] = pim.alloc slack 0 : memref<3x2xf32>
      // CHECK-NEXT: pim.issue "vtanh" length 6 repeat 1 ([[R]] : memref<1x3x2xf32>) [#pim.access<>] into [[B]]
      %2 = pim.empty : tensor<3x2xf32>
      %3 = pim.issue "vtanh" length 6 repeat 1 (%r : tensor<1x3x2xf32>) [#pim.access<>] into %2 : tensor<3x2xf32> #pim.access<> -> tensor<3x2xf32>
      // CHECK-NEXT: pim.issue "vvadd" length 6 repeat 1 ([[A]], [[B]] : memref<3x2xf32>, memref<3x2xf32>) [#pim.access<>, #pim.access<>] into [[OUT]]
      %4 = pim.empty : tensor<3x2xf32>
      %5 = pim.issue "vvadd" length 6 repeat 1 (%1, %3 : tensor<3x2xf32>, tensor<3x2xf32>) [#pim.access<>, #pim.access<>] into %4 : tensor<3x2xf32> #pim.access<> -> tensor<3x2xf32>
      // CHECK-NEXT: pim.end
      pim.yield %5 : tensor<3x2xf32>
    }
    pim.output "y" shape <i64[4] [1, 2, 1, 3]> channels [#tile.array<i32[2] [0, 1]>] %y : tensor<1x3x2xf32>
  }
}
