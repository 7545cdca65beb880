// RUN: tile-opt %s -p pim-bufferize | filecheck %s
// RUN: tile-opt %s -p pim-bufferize --pass-statistics 2>&1 | filecheck %s --check-prefix STATISTICS

// STATISTICS: 1 copies added

builtin.module attributes {tile.machine = "tiny4"} {
  // CHECK: pim.program {
  pim.program {
    // CHECK-NEXT: [[X:%.*]] = pim.input "x"
    %x = pim.input "x" shape <i64[4] [1, 2, 2, 2]> : tensor<2x2x2xf32>
    // Rows of a tensor have the columns of zeros that their widest reader wants.
    // CHECK-NEXT: [[XR:%.*]] = pim.rows pad 1, 2 slack 0 : memref<2x2x2xf32>
    // CHECK-NEXT: pim.load [[X]] : tensor<2x2x2xf32> rows <i64[2, 3] [0, 0, 0, 1, 0, 1]> into [[XR]] : memref<2x2x2xf32>
    %l = pim.load %x : tensor<2x2x2xf32> rows <i64[2, 3] [0, 0, 0, 1, 0, 1]> -> tensor<2x2x2xf32>
    // CHECK-NEXT: [[W:%.*]] = pim.matrix
    %w = pim.matrix <f32[4, 3] splat 0.5> : tensor<4x3xf32>
    // CHECK-NEXT: [[B:%.*]] = pim.constant
    %b = pim.constant <f32[1, 3] splat 1.0> : tensor<3x3xf32>
    // CHECK-NEXT: [[BR:%.*]] = pim.constant_rows [[B]] : tensor<3x3xf32> -> memref<3x3xf32>
    // A product writes whole arrays: 128 columns, of which 3 are used, behind the start of the last window.
    // CHECK-NEXT: [[YR:%.*]] = pim.rows pad 0, 0 slack 125 : memref<2x3x3xf32>
    // CHECK-NEXT: pim.core_batch lanes 2 replicas 1 cores <i32[1] [0]> steps <i64[2] [0, 1]> ins([[XR]] : memref<2x2x2xf32>) windows [#spat.window<height 2, lanes 2, pad_left 1, pad_right 2>] constants([[BR]] : memref<3x3xf32>) matrices([[W]] : tensor<4x3xf32>) outs([[YR]] : memref<2x3x3xf32>) {
    %y = pim.core_batch lanes 2 replicas 1 cores <i32[1] [0]> steps <i64[2] [0, 1]> ins(%l : tensor<2x2x2xf32>) windows [#spat.window<height 2, lanes 2, pad_left 1, pad_right 2>] constants(%b : tensor<3x3xf32>) matrices(%w : tensor<4x3xf32>) outs() -> tensor<2x3x3xf32> {
    // CHECK-NEXT: ^{{.*}}([[R:%.*]]: memref<1x5x2xf32>, [[C:%.*]]: memref<3x3xf32>, [[M:%.*]]: tensor<4x3xf32>, [[OUT:%.*]]: memref<3x3xf32>):
    ^bb0(%r: tensor<1x5x2xf32>, %c: tensor<3x3xf32>, %m: tensor<4x3xf32>):
      // The row that is yielded is formed in its place.
      // CHECK-NEXT: pim.issue "mvmul" length 4 repeat 3 ([[R]] : memref<1x5x2xf32>) [#pim.access<step 2>] matrix [[M]] : tensor<4x3xf32> row 0 groups <i32[1] [0]> into [[OUT]] : memref<3x3xf32> #pim.access<step 3>
      %0 = pim.empty : tensor<3x3xf32>
      %1 = pim.issue "mvmul" length 4 repeat 3 (%r : tensor<1x5x2xf32>) [#pim.access<step 2>] matrix %m : tensor<4x3xf32> row 0 groups <i32[1] [0]> into %0 : tensor<3x3xf32> #pim.access<step 3> -> tensor<3x3xf32>
      // CHECK-NEXT: pim.issue "vvadd" length 9 repeat 1 ([[OUT]], [[C]] : memref<3x3xf32>, memref<3x3xf32>) [#pim.access<>, #pim.access<>] into [[OUT]] : memref<3x3xf32> #pim.access<>
      %2 = pim.issue "vvadd" length 9 repeat 1 (%1, %c : tensor<3x3xf32>, tensor<3x3xf32>) [#pim.access<>, #pim.access<>] into %1 : tensor<3x3xf32> #pim.access<> -> tensor<3x3xf32>
      // CHECK-NEXT: pim.end
      pim.yield %2 : tensor<3x3xf32>
    }
    // A transferred tensor lies in the same rows.
    // CHECK: pim.transfer [[YR]] messages <i64[1, 4] [1, 0, 2, 1]> : memref<2x3x3xf32>
    %t = pim.transfer %y messages <i64[1, 4] [1, 0, 2, 1]> : tensor<2x3x3xf32> -> tensor<2x3x3xf32>
    // CHECK-NEXT: [[ZR:%.*]] = pim.rows pad 0, 0 slack 0 : memref<1x3x3xf32>
    // CHECK-NEXT: pim.core_batch lanes 1 {{.*}} ins([[YR]] : memref<2x3x3xf32>) {{.*}} outs([[ZR]] : memref<1x3x3xf32>) {
    %z = pim.core_batch lanes 1 replicas 1 cores <i32[1] [2]> steps <i64[1] [5]> ins(%t : tensor<2x3x3xf32>) windows [#spat.window<height 2, lanes 1, pad_top -1>] constants() matrices() outs() -> tensor<1x3x3xf32> {
    // CHECK-NEXT: ^{{.*}}([[R2:%.*]]: memref<1x3x3xf32>, [[OUT2:%.*]]: memref<3x3xf32>):
    ^bb0(%r: tensor<1x3x3xf32>):
      // What is overwritten and read again is copied first.
      // CHECK-NEXT: [[T0:%.*]] = pim.alloc slack 0 : memref<3x3xf32>
      // CHECK-NEXT: pim.issue "vrelu" length 9 repeat 1 ([[R2]] : memref<1x3x3xf32>) [#pim.access<>] into [[T0]]
      %0 = pim.empty : tensor<3x3xf32>
      %1 = pim.issue "vrelu" length 9 repeat 1 (%r : tensor<1x3x3xf32>) [#pim.access<>] into %0 : tensor<3x3xf32> #pim.access<> -> tensor<3x3xf32>
      // CHECK-NEXT: [[T1:%.*]] = pim.alloc slack 0 : memref<3x3xf32>
      // CHECK-NEXT: pim.issue "lmv" length 9 repeat 1 ([[T0]] : memref<3x3xf32>) [#pim.access<>] into [[T1]]
      // CHECK-NEXT: pim.issue "vtanh" length 3 repeat 1 ([[T1]] : memref<3x3xf32>) [#pim.access<>] into [[T1]]
      %2 = pim.issue "vtanh" length 3 repeat 1 (%1 : tensor<3x3xf32>) [#pim.access<>] into %1 : tensor<3x3xf32> #pim.access<> -> tensor<3x3xf32>
      // CHECK-NEXT: pim.issue "vvmul" length 9 repeat 1 ([[T0]], [[T1]] : memref<3x3xf32>, memref<3x3xf32>) [#pim.access<>, #pim.access<>] into [[OUT2]]
      %3 = pim.empty : tensor<3x3xf32>
      %4 = pim.issue "vvmul" length 9 repeat 1 (%1, %2 : tensor<3x3xf32>, tensor<3x3xf32>) [#pim.access<>, #pim.access<>] into %3 : tensor<3x3xf32> #pim.access<> -> tensor<3x3xf32>
      // CHECK-NEXT: pim.end
      pim.yield %4 : tensor<3x3xf32>
    }
    // CHECK: pim.output "z" {{.*}} [[ZR]] : memref<1x3x3xf32>
    pim.output "z" shape <i64[4] [1, 3, 1, 3]> channels [#tile.array<i32[3] [0, 1, 2]>] %z : tensor<1x3x3xf32>
  }
}
