// RUN: tile-opt %s -p spat-schedule-peft | filecheck %s
// RUN: tile-opt %s -p spat-schedule-peft | filecheck %s --check-prefix AHEAD
// RUN: tile-opt %s -p 'spat-schedule-peft{lead=1}' | filecheck %s
// RUN: tile-opt %s -p 'spat-schedule-peft{lead=1}' | filecheck %s --check-prefix LEAD
// RUN: tile-opt %s -p spat-schedule-peft,spat-schedule-peft | filecheck %s
// RUN: tile-opt %s -p spat-schedule-peft --pass-statistics 2>&1 | filecheck %s --check-prefix STATISTICS

// STATISTICS: makespan cycles

// Each replica gets a core, each lane the step at which it starts and the steps that it extends over, each row that another
// core reads a step at which it is sent there.
builtin.module attributes {tile.machine = "tiny4"} {
  func.func @main() {
    %x = spat.input "x" shape <i64[4] [1, 128, 2, 2]> : tensor<2x2x128xf32>
    %w = spat.constant <f32[128, 128] splat 0.5> : tensor<128x128xf32>
    // CHECK: spat.compute_batch lanes 2 replicas 2 cores <i32[2] [{{[0-3]}}, {{[0-3]}}]> steps <i64[2] [{{[0-9]+}}, {{[0-9]+}}]> spans <i64[2] splat {{[0-9]+}}> resumes <i64[0, 3] []> sends <i64[2, 3] [0, [[READER:[0-3]]], {{[0-9]+}}, 1, [[READER]], {{[0-9]+}}]> ins(
    %p = spat.compute_batch lanes 2 replicas 2 ins(%x : tensor<2x2x128xf32>) windows [#spat.window<height 2, lanes 2>] weights(%w : tensor<128x128xf32>) -> tensor<2x2x128xf32> {
    ^bb0(%rows: tensor<1x2x128xf32>, %m: tensor<128x128xf32>):
      %row = spat.view %rows row 0 start 0 step 128 : tensor<1x2x128xf32> -> tensor<2x128xf32>
      %0 = spat.vmm %row, %m row 0 : tensor<2x128xf32>, tensor<128x128xf32> -> tensor<2x128xf32>
      spat.yield %0 : tensor<2x128xf32>
    }
    // CHECK: spat.compute_batch lanes 1 cores <i32[1] [[[READER]]]> steps <i64[1] [{{[0-9]+}}]> spans <i64[1] [{{[0-9]+}}]> resumes <i64[0, 3] []> sends <i64[0, 3] []> ins(
    %y = spat.compute_batch lanes 1 ins(%p : tensor<2x2x128xf32>) windows [#spat.window<height 2, lanes 1, rows 2>] -> tensor<1x2x128xf32> {
    ^bb0(%rows: tensor<2x2x128xf32>):
      %0 = spat.reduce_rows "max" %rows : tensor<2x2x128xf32> -> tensor<2x128xf32>
      spat.yield %0 : tensor<2x128xf32>
    }
    // Products take longer than what makes rows for them. The next row comes while one is multiplied, so that this lane
    // extends over the 238 cycles of a message more than its own 3376; with a lead of 1, the next row is not made before.
    %b = spat.input "b" shape <i64[4] [1, 128, 3, 2]> : tensor<3x2x128xf32>
    %q = spat.compute_batch lanes 3 ins(%b : tensor<3x2x128xf32>) windows [#spat.window<height 3, lanes 3>] -> tensor<3x2x128xf32> {
    ^bb0(%rows: tensor<1x2x128xf32>):
      %row = spat.view %rows row 0 start 0 step 128 : tensor<1x2x128xf32> -> tensor<2x128xf32>
      %0 = spat.relu %row : tensor<2x128xf32>
      spat.yield %0 : tensor<2x128xf32>
    }
    // CHECK: spat.compute_batch lanes 3 cores
    // CHECK: spat.compute_batch lanes 3 cores
    // AHEAD: spans <i64[3] [3614, 3376, 3376]>
    // LEAD: spans <i64[3] splat 3376>
    %z = spat.compute_batch lanes 3 ins(%q : tensor<3x2x128xf32>) windows [#spat.window<height 3, lanes 3>] weights(%w : tensor<128x128xf32>) -> tensor<3x2x128xf32> {
    ^bb0(%rows: tensor<1x2x128xf32>, %m: tensor<128x128xf32>):
      %row = spat.view %rows row 0 start 0 step 128 : tensor<1x2x128xf32> -> tensor<2x128xf32>
      %0 = spat.vmm %row, %m row 0 : tensor<2x128xf32>, tensor<128x128xf32> -> tensor<2x128xf32>
      spat.yield %0 : tensor<2x128xf32>
    }
    func.return
  }
}
