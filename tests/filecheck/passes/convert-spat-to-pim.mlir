// RUN: tile-opt %s -p convert-spat-to-pim | filecheck %s

// CHECK: builtin.module attributes {tile.machine = "tiny4"} {
// CHECK-NEXT: pim.program {
builtin.module attributes {tile.machine = "tiny4"} {
  func.func @main() {
    // CHECK-NEXT: [[X:%.*]] = pim.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
    %x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
    // Each core loads the rows that it reads, at the step of their first reader.
    // CHECK-NEXT: [[L:%.*]] = pim.load [[X]] : tensor<4x4x2xf32> rows <i64[8, 3] [0, 0, 0, 1, 0, 0, 0, 1, 100, 1, 1, 100, 2, 1, 100, 2, 0, 200, 3, 0, 200, 3, 1, 300]> -> tensor<4x4x2xf32>
    %here = spat.deferred_communication %x needs <i64[1, 2] [0, 0]> : tensor<4x4x2xf32>
    %w = spat.constant <f32[12, 3] splat 0.5> : tensor<12x3xf32>
    %b = spat.constant <f32[1, 3] splat 1.0> : tensor<1x3xf32>
    %s = spat.constant <f32[2, 4, 3] splat 1.5> : tensor<2x4x3xf32>
    // A bias repeats over the columns, a table of tiles is an input of its own.
    // CHECK-DAG: [[B:%.*]] = pim.constant <f32[1, 3] splat 1.0> : tensor<4x3xf32>
    // CHECK-DAG: [[S:%.*]] = pim.constant <f32[2, 4, 3] splat 1.5> : tensor<2x4x3xf32>
    // CHECK-DAG: [[W:%.*]] = pim.matrix <f32[12, 3] splat 0.5> : tensor<12x3xf32>
    // CHECK: [[Y:%.*]] = pim.core_batch lanes 4 replicas 2 cores <i32[2] [0, 1]> steps <i64[4] [0, 100, 200, 300]> spans <i64[4] [9, 9, 9, 12]> ins([[L]], [[S]] : tensor<4x4x2xf32>, tensor<2x4x3xf32>)
    // CHECK-SAME: windows [#spat.window<height 4, lanes 4, rows 3, pad_top 1, pad_left 1, pad_right 1>, #tile.array<i64[4, 1] [0, 1, 1, 0]>] constants([[B]] : tensor<4x3xf32>) matrices([[W]] : tensor<12x3xf32>) outs() -> tensor<4x4x3xf32> {
    %y = spat.scheduled_compute_batch lanes 4 replicas 2 cores <i32[2] [0, 1]> steps <i64[4] [0, 100, 200, 300]> spans <i64[4] [9, 9, 9, 12]> ins(%here : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4, rows 3, pad_top 1, pad_left 1, pad_right 1>] weights(%w, %b, %s : tensor<12x3xf32>, tensor<1x3xf32>, tensor<2x4x3xf32>) -> tensor<4x4x3xf32> {
    // CHECK-NEXT: ^{{.*}}([[R:%.*]]: tensor<3x6x2xf32>, [[T:%.*]]: tensor<1x4x3xf32>, [[C:%.*]]: tensor<4x3xf32>, [[M:%.*]]: tensor<12x3xf32>):
    ^bb0(%rows: tensor<3x6x2xf32>, %m: tensor<12x3xf32>, %bias: tensor<1x3xf32>, %stack: tensor<2x4x3xf32>):
      // Windows overlap, so that there is a product for each; two views are gathered, turn by turn with the product.
      // CHECK-NEXT: [[E:%.*]] = pim.empty : tensor<4x12xf32>
      // CHECK-NEXT: [[G:%.*]] = pim.issue "lmv" length 6 repeat 4 ([[R]] : tensor<3x6x2xf32>) [#pim.access<step 2>] into [[E]] : tensor<4x12xf32> #pim.access<step 12> -> tensor<4x12xf32>
      // CHECK-NEXT: [[H:%.*]] = pim.issue "lmv" length 6 repeat 4 chained ([[R]] : tensor<3x6x2xf32>) [#pim.access<row 1, step 2>] into [[G]] : tensor<4x12xf32> #pim.access<start 6, step 12> -> tensor<4x12xf32>
      // CHECK-NEXT: [[F:%.*]] = pim.empty : tensor<4x3xf32>
      // CHECK-NEXT: [[P:%.*]] = pim.issue "mvmul" length 12 repeat 4 chained ([[H]] : tensor<4x12xf32>) [#pim.access<step 12>] matrix [[M]] : tensor<12x3xf32> row 0 groups <i32[2] splat 0> into [[F]] : tensor<4x3xf32> #pim.access<step 3> -> tensor<4x3xf32>
      %0 = spat.view %rows row 0 start 0 step 2 : tensor<3x6x2xf32> -> tensor<4x6xf32>
      %1 = spat.view %rows row 1 start 0 step 2 : tensor<3x6x2xf32> -> tensor<4x6xf32>
      %2 = spat.gather %0, %1 : tensor<4x6xf32>, tensor<4x6xf32> -> tensor<4x12xf32>
      %3 = spat.vmm %2, %m row 0 : tensor<4x12xf32>, tensor<12x3xf32> -> tensor<4x3xf32>
      // What only this op reads is overwritten.
      // CHECK-NEXT: [[A:%.*]] = pim.issue "vvadd" length 12 repeat 1 ([[P]], [[C]] : tensor<4x3xf32>, tensor<4x3xf32>) [#pim.access<>, #pim.access<>] into [[P]] : tensor<4x3xf32> #pim.access<> -> tensor<4x3xf32>
      %4 = spat.vadd %3, %bias : tensor<4x3xf32>, tensor<1x3xf32> -> tensor<4x3xf32>
      // CHECK-NEXT: [[Q:%.*]] = pim.issue "vvmul" length 12 repeat 1 ([[A]], [[T]] : tensor<4x3xf32>, tensor<1x4x3xf32>) [#pim.access<>, #pim.access<>] into [[A]] : tensor<4x3xf32> #pim.access<> -> tensor<4x3xf32>
      %5 = spat.pick %stack by <i32[4] [0, 1, 1, 0]> : tensor<2x4x3xf32> -> tensor<4x3xf32>
      %6 = spat.vmul %4, %5 : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x3xf32>
      // CHECK-NEXT: pim.yield [[Q]] : tensor<4x3xf32>
      spat.yield %6 : tensor<4x3xf32>
    }
    // CHECK: [[Z:%.*]] = pim.transfer [[Y]] messages <i64[1, 4] [1, 1, 0, 150]> : tensor<4x4x3xf32> -> tensor<4x4x3xf32>
    %c = spat.channel_send %y messages <i64[1, 4] [1, 1, 0, 150]> : tensor<4x4x3xf32>
    %z = spat.channel_receive %y from %c : tensor<4x4x3xf32>
    // CHECK: pim.core_batch lanes 1 {{.*}} ins([[Z]] : tensor<4x4x3xf32>)
    %a = spat.scheduled_compute_batch lanes 1 cores <i32[1] [0]> steps <i64[1] [400]> ins(%z : tensor<4x4x3xf32>) windows [#spat.window<height 4, lanes 1, rows 2>] -> tensor<1x1x1xf32> {
    ^bb0(%rows: tensor<2x4x3xf32>):
      // CHECK: [[E2:%.*]] = pim.empty : tensor<4x3xf32>
      // CHECK-NEXT: [[R2:%.*]] = pim.issue "vvmax" length 12 repeat 1 ({{.*}}) [#pim.access<>, #pim.access<row 1>] into [[E2]]
      %0 = spat.reduce_rows "max" %rows : tensor<2x4x3xf32> -> tensor<4x3xf32>
      // CHECK: [[S2:%.*]] = pim.issue "vvadd" length 3 repeat 1 ([[R2]], [[R2]] : {{.*}}) [#pim.access<>, #pim.access<start 3>]
      // CHECK-NEXT: [[S3:%.*]] = pim.issue "vvadd" length 3 repeat 2 ([[S2]], [[R2]] : {{.*}}) [#pim.access<>, #pim.access<start 6, step 3>] into [[S2]]
      %1 = spat.reduce_columns "add" %0 : tensor<4x3xf32> -> tensor<1x3xf32>
      // CHECK: pim.issue "vvdmul" length 3 repeat 1
      %2 = spat.reduce_channels "add" %1 : tensor<1x3xf32> -> tensor<1x1xf32>
      spat.yield %2 : tensor<1x1xf32>
    }
    // CHECK: pim.output "a"
    spat.output "a" shape <i64[2] [1, 1]> channels [#tile.array<i32[1] [0]>] %a : tensor<1x1x1xf32>
    func.return
  }
}
