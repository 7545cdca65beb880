// RUN: tile-opt %s | tile-opt | filecheck %s
// RUN: tile-opt %s --print-op-generic | tile-opt | filecheck %s

func.func @main() {
  // CHECK: %x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
  %x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
  // CHECK-NEXT: %half = spat.input "half" shape <i64[2] [1, 2]> as f16 : tensor<1x1x2xf32>
  %half = spat.input "half" shape <i64[2] [1, 2]> as f16 : tensor<1x1x2xf32>
  // CHECK-NEXT: %matrix = spat.constant <f32[6, 3] splat 0.5> : tensor<6x3xf32>
  %matrix = spat.constant <f32[6, 3] splat 0.5> : tensor<6x3xf32>
  // CHECK-NEXT: %stack = spat.constant <f32[2, 1, 3] [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<2x1x3xf32>
  %stack = spat.constant <f32[2, 1, 3] [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<2x1x3xf32>

  // Every op of a body.
  // CHECK-NEXT: %y = spat.compute_batch lanes 4 replicas 2 ins(%x : tensor<4x4x2xf32>)
  // CHECK-SAME: windows [#spat.window<height 4, lanes 4, rows 3, pad_top 1, pad_left 1, pad_right 1>]
  // CHECK-SAME: weights(%matrix, %stack : tensor<6x3xf32>, tensor<2x1x3xf32>) -> tensor<4x4x3xf32> {
  %y = spat.compute_batch lanes 4 replicas 2 ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4, rows 3, stride 1, pad_top 1, pad_left 1, pad_right 1>] weights(%matrix, %stack : tensor<6x3xf32>, tensor<2x1x3xf32>) -> tensor<4x4x3xf32> {
  ^bb0(%rows: tensor<3x6x2xf32>, %m: tensor<6x3xf32>, %s: tensor<2x1x3xf32>):
    // CHECK: %window = spat.view %rows row 1 start 0 step 2 : tensor<3x6x2xf32> -> tensor<4x6xf32>
    %window = spat.view %rows row 1 start 0 step 2 : tensor<3x6x2xf32> -> tensor<4x6xf32>
    // CHECK-NEXT: %product = spat.vmm %window, %m row 0 : tensor<4x6xf32>, tensor<6x3xf32> -> tensor<4x3xf32>
    %product = spat.vmm %window, %m row 0 : tensor<4x6xf32>, tensor<6x3xf32> -> tensor<4x3xf32>
    // CHECK-NEXT: %picked = spat.pick %s by <i32[4] [0, 1, 1, 0]> : tensor<2x1x3xf32> -> tensor<1x3xf32>
    %picked = spat.pick %s by <i32[4] [0, 1, 1, 0]> : tensor<2x1x3xf32> -> tensor<1x3xf32>
    // CHECK-NEXT: %sum = spat.vadd %product, %picked : tensor<4x3xf32>, tensor<1x3xf32> -> tensor<4x3xf32>
    %sum = spat.vadd %product, %picked : tensor<4x3xf32>, tensor<1x3xf32> -> tensor<4x3xf32>
    // CHECK-NEXT: %difference = spat.vsub %sum, %product : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x3xf32>
    %difference = spat.vsub %sum, %product : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x3xf32>
    // CHECK-NEXT: %scaled = spat.vmul %difference, %picked : tensor<4x3xf32>, tensor<1x3xf32> -> tensor<4x3xf32>
    %scaled = spat.vmul %difference, %picked : tensor<4x3xf32>, tensor<1x3xf32> -> tensor<4x3xf32>
    // CHECK-NEXT: %larger = spat.vmax %scaled, %sum : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x3xf32>
    %larger = spat.vmax %scaled, %sum : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x3xf32>
    // CHECK-NEXT: %relu = spat.relu %larger : tensor<4x3xf32>
    %relu = spat.relu %larger : tensor<4x3xf32>
    // CHECK-NEXT: %tanh = spat.tanh %relu : tensor<4x3xf32>
    %tanh = spat.tanh %relu : tensor<4x3xf32>
    // CHECK-NEXT: %sigmoid = spat.sigmoid %tanh : tensor<4x3xf32>
    %sigmoid = spat.sigmoid %tanh : tensor<4x3xf32>
    // CHECK-NEXT: %columns = spat.reduce_columns "add" %sigmoid : tensor<4x3xf32> -> tensor<1x3xf32>
    %columns = spat.reduce_columns "add" %sigmoid : tensor<4x3xf32> -> tensor<1x3xf32>
    // CHECK-NEXT: %channels = spat.reduce_channels "max" %columns : tensor<1x3xf32> -> tensor<1x1xf32>
    %channels = spat.reduce_channels "max" %columns : tensor<1x3xf32> -> tensor<1x1xf32>
    // CHECK-NEXT: %spread = spat.spread %channels : tensor<1x1xf32> -> tensor<1x3xf32>
    %spread = spat.spread %channels : tensor<1x1xf32> -> tensor<1x3xf32>
    // CHECK-NEXT: %rows_max = spat.reduce_rows "max" %rows : tensor<3x6x2xf32> -> tensor<6x2xf32>
    %rows_max = spat.reduce_rows "max" %rows : tensor<3x6x2xf32> -> tensor<6x2xf32>
    // CHECK-NEXT: %padded = spat.pad %rows_max columns 1, 2 channels 0, 0 : tensor<6x2xf32> -> tensor<9x2xf32>
    %padded = spat.pad %rows_max columns 1, 2 channels 0, 0 : tensor<6x2xf32> -> tensor<9x2xf32>
    // CHECK-NEXT: %gathered = spat.gather %padded, %padded : tensor<9x2xf32>, tensor<9x2xf32> -> tensor<9x4xf32>
    %gathered = spat.gather %padded, %padded : tensor<9x2xf32>, tensor<9x2xf32> -> tensor<9x4xf32>
    // CHECK-NEXT: %result = spat.vadd %sigmoid, %spread : tensor<4x3xf32>, tensor<1x3xf32> -> tensor<4x3xf32>
    %result = spat.vadd %sigmoid, %spread : tensor<4x3xf32>, tensor<1x3xf32> -> tensor<4x3xf32>
    // CHECK-NEXT: spat.yield %result : tensor<4x3xf32>
    spat.yield %result : tensor<4x3xf32>
  }

  // Several results, a schedule, and a window over a whole image that repeats its border.
  // CHECK: %a, %b = spat.compute_batch lanes 1 cores <i32[1] [3]> steps <i64[1] [0]> ins(%y : tensor<4x4x3xf32>)
  // CHECK-SAME: windows [#spat.window<height 4, lanes 1, rows 5, stride 4, dilation 2, pad_top -1, edge clamp>] -> tensor<1x4x3xf32>, tensor<1x1x3xf32> {
  %a, %b = spat.compute_batch lanes 1 cores <i32[1] [3]> steps <i64[1] [0]> ins(%y : tensor<4x4x3xf32>) windows [#spat.window<height 4, lanes 1, rows 5, stride 4, dilation 2, pad_top -1, edge clamp>] -> tensor<1x4x3xf32>, tensor<1x1x3xf32> {
  ^bb0(%rows: tensor<5x4x3xf32>):
    %max = spat.reduce_rows "max" %rows : tensor<5x4x3xf32> -> tensor<4x3xf32>
    %sum = spat.reduce_columns "add" %max : tensor<4x3xf32> -> tensor<1x3xf32>
    spat.yield %max, %sum : tensor<4x3xf32>, tensor<1x3xf32>
  }

  // CHECK: %z = spat.scheduled_compute_batch lanes 4 replicas 2 cores <i32[2] [0, 1]> steps <i64[4] [0, 1, 2, 3]> spans <i64[4] [2, 2, 1, 1]> resumes <i64[1, 3] [0, 0, 1]> sends <i64[1, 3] [1, 0, 7]> fetches <i64[1, 3] [0, 1, 5]> ins(%y : tensor<4x4x3xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x3xf32> {
  %z = spat.scheduled_compute_batch lanes 4 replicas 2 cores <i32[2] [0, 1]> steps <i64[4] [0, 1, 2, 3]> spans <i64[4] [2, 2, 1, 1]> resumes <i64[1, 3] [0, 0, 1]> sends <i64[1, 3] [1, 0, 7]> fetches <i64[1, 3] [0, 1, 5]> ins(%y : tensor<4x4x3xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x3xf32> {
  ^bb0(%rows: tensor<1x4x3xf32>):
    %row = spat.view %rows row 0 start 0 step 3 : tensor<1x4x3xf32> -> tensor<4x3xf32>
    spat.yield %row : tensor<4x3xf32>
  }

  // CHECK: %known = spat.deferred_communication %x needs <i64[2, 2] [0, 7, 1, 7]> : tensor<4x4x2xf32>
  %known = spat.deferred_communication %x needs <i64[2, 2] [0, 7, 1, 7]> : tensor<4x4x2xf32>
  // CHECK-NEXT: %channel = spat.channel_send %z messages <i64[1, 4] [0, 0, 7, 0]> : tensor<4x4x3xf32>
  %channel = spat.channel_send %z messages <i64[1, 4] [0, 0, 7, 0]> : tensor<4x4x3xf32>
  // CHECK-NEXT: %received = spat.channel_receive %z from %channel : tensor<4x4x3xf32>
  %received = spat.channel_receive %z from %channel : tensor<4x4x3xf32>
  // CHECK-NEXT: spat.output "y" shape <i64[4] [1, 6, 4, 4]> channels [#tile.array<i32[3] [0, 2, 4]>, #tile.array<i32[3] [1, 3, 5]>] %y, %z : tensor<4x4x3xf32>, tensor<4x4x3xf32>
  spat.output "y" shape <i64[4] [1, 6, 4, 4]> channels [#tile.array<i32[3] [0, 2, 4]>, #tile.array<i32[3] [1, 3, 5]>] %y, %z : tensor<4x4x3xf32>, tensor<4x4x3xf32>
  // CHECK-NEXT: spat.output "flat" shape <i64[1] [48]> images 1 channels [#tile.array<i32[3] [0, 1, 2]>] %y : tensor<4x4x3xf32>
  spat.output "flat" shape <i64[1] [48]> images 1 channels [#tile.array<i32[3] [0, 1, 2]>] %y : tensor<4x4x3xf32>
  func.return
}
