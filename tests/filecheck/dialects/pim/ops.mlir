// RUN: tile-opt %s | tile-opt | filecheck %s
// RUN: tile-opt %s --print-op-generic | tile-opt | filecheck %s

// On tensors: a product, its bias and a look-up in a table of tiles.
// CHECK: pim.program {
pim.program {
  // CHECK-NEXT: %x = pim.input "x" shape <i64[4] [1, 2, 2, 2]> : tensor<2x2x2xf32>
  %x = pim.input "x" shape <i64[4] [1, 2, 2, 2]> : tensor<2x2x2xf32>
  // CHECK-NEXT: %here = pim.load %x : tensor<2x2x2xf32> rows <i64[2, 3] [0, 5, 0, 1, 5, 1]> -> tensor<2x2x2xf32>
  %here = pim.load %x : tensor<2x2x2xf32> rows <i64[2, 3] [0, 5, 0, 1, 5, 1]> -> tensor<2x2x2xf32>
  // CHECK-NEXT: %m = pim.matrix <f32[2, 3] splat 0.5> : tensor<2x3xf32>
  %m = pim.matrix <f32[2, 3] splat 0.5> : tensor<2x3xf32>
  // CHECK-NEXT: %bias = pim.constant <f32[1, 3] [1.0, 2.0, 3.0]> : tensor<2x3xf32>
  %bias = pim.constant <f32[1, 3] [1.0, 2.0, 3.0]> : tensor<2x3xf32>
  // CHECK-NEXT: %stack = pim.constant <f32[2, 2, 3] splat 1.5> : tensor<2x2x3xf32>
  %stack = pim.constant <f32[2, 2, 3] splat 1.5> : tensor<2x2x3xf32>
  // CHECK-NEXT: %y = pim.core_batch lanes 2 replicas 1 cores <i32[1] [5]> steps <i64[2] [0, 1]> ins(%here, %stack : tensor<2x2x2xf32>, tensor<2x2x3xf32>)
  // CHECK-SAME: windows [#spat.window<height 2, lanes 2>, #tile.array<i64[2, 1] [1, 0]>] constants(%bias : tensor<2x3xf32>) matrices(%m : tensor<2x3xf32>) outs() -> tensor<2x2x3xf32> {
  %y = pim.core_batch lanes 2 replicas 1 cores <i32[1] [5]> steps <i64[2] [0, 1]> ins(%here, %stack : tensor<2x2x2xf32>, tensor<2x2x3xf32>) windows [#spat.window<height 2, lanes 2>, #tile.array<i64[2, 1] [1, 0]>] constants(%bias : tensor<2x3xf32>) matrices(%m : tensor<2x3xf32>) outs() -> tensor<2x2x3xf32> {
  ^bb0(%rows: tensor<1x2x2xf32>, %tile: tensor<1x2x3xf32>, %b: tensor<2x3xf32>, %w: tensor<2x3xf32>):
    // CHECK: %0 = pim.empty : tensor<2x3xf32>
    %0 = pim.empty : tensor<2x3xf32>
    // CHECK-NEXT: %1 = pim.issue "mvmul" length 2 repeat 2 (%rows : tensor<1x2x2xf32>) [#pim.access<step 2>] matrix %w : tensor<2x3xf32> row 0 groups <i32[1] [0]> into %0 : tensor<2x3xf32> #pim.access<step 3> -> tensor<2x3xf32>
    %1 = pim.issue "mvmul" length 2 repeat 2 (%rows : tensor<1x2x2xf32>) [#pim.access<step 2>] matrix %w : tensor<2x3xf32> row 0 groups <i32[1] [0]> into %0 : tensor<2x3xf32> #pim.access<step 3> -> tensor<2x3xf32>
    // CHECK-NEXT: %2 = pim.issue "vvadd" length 3 repeat 2 chained (%1, %b : tensor<2x3xf32>, tensor<2x3xf32>) [#pim.access<step 3>, #pim.access<step 3>] into %1 : tensor<2x3xf32> #pim.access<step 3> -> tensor<2x3xf32>
    %2 = pim.issue "vvadd" length 3 repeat 2 chained (%1, %b : tensor<2x3xf32>, tensor<2x3xf32>) [#pim.access<step 3>, #pim.access<step 3>] into %1 : tensor<2x3xf32> #pim.access<step 3> -> tensor<2x3xf32>
    // CHECK-NEXT: %3 = pim.issue "vvmul" length 6 repeat 1 (%2, %tile : tensor<2x3xf32>, tensor<1x2x3xf32>) [#pim.access<>, #pim.access<>] into %2 : tensor<2x3xf32> #pim.access<> -> tensor<2x3xf32>
    %3 = pim.issue "vvmul" length 6 repeat 1 (%2, %tile : tensor<2x3xf32>, tensor<1x2x3xf32>) [#pim.access<>, #pim.access<>] into %2 : tensor<2x3xf32> #pim.access<> -> tensor<2x3xf32>
    // CHECK-NEXT: %4 = pim.issue "lldi" length 3 repeat 1 immediate 0 () [] into %3 : tensor<2x3xf32> #pim.access<start 3> -> tensor<2x3xf32>
    %4 = pim.issue "lldi" length 3 repeat 1 immediate 0 () [] into %3 : tensor<2x3xf32> #pim.access<start 3> -> tensor<2x3xf32>
    // CHECK-NEXT: %5 = pim.issue "vvadd" length 1 repeat 6 turns 2 (%4, %2 : tensor<2x3xf32>, tensor<2x3xf32>) [#pim.access<step 1>, #pim.access<step 1, cycle 3>] into %4 : tensor<2x3xf32> #pim.access<step 1> -> tensor<2x3xf32>
    %5 = pim.issue "vvadd" length 1 repeat 6 turns 2 (%4, %2 : tensor<2x3xf32>, tensor<2x3xf32>) [#pim.access<step 1>, #pim.access<step 1, cycle 3>] into %4 : tensor<2x3xf32> #pim.access<step 1> -> tensor<2x3xf32>
    // CHECK-NEXT: pim.yield %5 : tensor<2x3xf32>
    pim.yield %5 : tensor<2x3xf32>
  }
  // CHECK: %there = pim.transfer %y messages <i64[1, 4] [0, 5, 6, 0]> : tensor<2x2x3xf32> -> tensor<2x2x3xf32>
  %there = pim.transfer %y messages <i64[1, 4] [0, 5, 6, 0]> : tensor<2x2x3xf32> -> tensor<2x2x3xf32>
  // CHECK-NEXT: pim.output "y" shape <i64[4] [1, 3, 2, 2]> channels [#tile.array<i32[3] [2, 0, 1]>] %y : tensor<2x2x3xf32>
  pim.output "y" shape <i64[4] [1, 3, 2, 2]> channels [#tile.array<i32[3] [2, 0, 1]>] %y : tensor<2x2x3xf32>
}

// On buffers, with addresses.
// CHECK: pim.program zeros <i64[1, 3] [5, 0, 4]> peak <i64[1] [52]> {
pim.program zeros <i64[1, 3] [5, 0, 4]> peak <i64[1] [52]> {
  %x = pim.input "x" shape <i64[4] [1, 2, 2, 2]> : tensor<2x2x2xf32>
  %bias = pim.constant <f32[1, 2] [1.0, 2.0]> : tensor<2x2xf32>
  // CHECK: %rows_x = pim.rows pad 0, 0 slack 0 at <i64[2, 3] [5, 0, 4, 5, 1, 8]> rings <i64[1, 4] [5, 4, 8, 1]> : memref<2x2x2xf32>
  %rows_x = pim.rows pad 0, 0 slack 0 at <i64[2, 3] [5, 0, 4, 5, 1, 8]> rings <i64[1, 4] [5, 4, 8, 1]> : memref<2x2x2xf32>
  // CHECK-NEXT: pim.load %x : tensor<2x2x2xf32> rows <i64[2, 3] [0, 5, 0, 1, 5, 1]> into %rows_x : memref<2x2x2xf32>
  pim.load %x : tensor<2x2x2xf32> rows <i64[2, 3] [0, 5, 0, 1, 5, 1]> into %rows_x : memref<2x2x2xf32>
  // CHECK-NEXT: %held = pim.constant_rows %bias at <i64[1, 3] [5, 12, 0]> : tensor<2x2xf32> -> memref<2x2xf32>
  %held = pim.constant_rows %bias at <i64[1, 3] [5, 12, 0]> : tensor<2x2xf32> -> memref<2x2xf32>
  // CHECK-NEXT: %rows_y = pim.rows pad 1, 2 slack 3 : memref<2x2x2xf32>
  %rows_y = pim.rows pad 1, 2 slack 3 : memref<2x2x2xf32>
  // CHECK-NEXT: pim.core_batch lanes 2 replicas 1 cores <i32[1] [5]> steps <i64[2] [0, 4]> spans <i64[2] [4, 1]> ins(%rows_x : memref<2x2x2xf32>) windows [#spat.window<height 2, lanes 2, pad_top 1>] constants(%held : memref<2x2xf32>) matrices() outs(%rows_y : memref<2x2x2xf32>) {
  pim.core_batch lanes 2 replicas 1 cores <i32[1] [5]> steps <i64[2] [0, 4]> spans <i64[2] [4, 1]> ins(%rows_x : memref<2x2x2xf32>) windows [#spat.window<height 2, lanes 2, pad_top 1>] constants(%held : memref<2x2xf32>) matrices() outs(%rows_y : memref<2x2x2xf32>) {
  ^bb0(%row: memref<1x2x2xf32>, %b: memref<2x2xf32>, %out: memref<2x2xf32>):
    // CHECK: %tile = pim.alloc slack 0 at <i64[1, 2] [5, 16]> : memref<2x2xf32>
    %tile = pim.alloc slack 0 at <i64[1, 2] [5, 16]> : memref<2x2xf32>
    // CHECK-NEXT: pim.issue "vrelu" length 4 repeat 1 (%row : memref<1x2x2xf32>) [#pim.access<>] into %tile : memref<2x2xf32> #pim.access<>
    pim.issue "vrelu" length 4 repeat 1 (%row : memref<1x2x2xf32>) [#pim.access<>] into %tile : memref<2x2xf32> #pim.access<>
    // CHECK-NEXT: pim.issue "vvadd" length 4 repeat 1 (%tile, %b : memref<2x2xf32>, memref<2x2xf32>) [#pim.access<>, #pim.access<>] into %out : memref<2x2xf32> #pim.access<>
    pim.issue "vvadd" length 4 repeat 1 (%tile, %b : memref<2x2xf32>, memref<2x2xf32>) [#pim.access<>, #pim.access<>] into %out : memref<2x2xf32> #pim.access<>
    // CHECK-NEXT: pim.end
    pim.end
  }
  // CHECK: pim.transfer %rows_y messages <i64[1, 4] [1, 5, 6, 1]> : memref<2x2x2xf32>
  pim.transfer %rows_y messages <i64[1, 4] [1, 5, 6, 1]> : memref<2x2x2xf32>
  // CHECK-NEXT: pim.output "y" shape <i64[4] [1, 2, 2, 2]> channels [#tile.array<i32[2] [0, 1]>] %rows_y : memref<2x2x2xf32>
  pim.output "y" shape <i64[4] [1, 2, 2, 2]> channels [#tile.array<i32[2] [0, 1]>] %rows_y : memref<2x2x2xf32>
}
