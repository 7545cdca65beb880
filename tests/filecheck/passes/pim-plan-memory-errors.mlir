// RUN: not tile-opt %s -p pim-plan-memory --split-input-file 2>&1 | filecheck %s

// CHECK: error: module: no target machine is named
pim.program {
  %x = pim.input "x" shape <i64[2] [1, 2]> : tensor<1x1x2xf32>
}

// -----

// CHECK: error: core 1: it needs 65600 bytes of local memory and has 65536; most is held for big (65600 bytes); use a machine with more local memory or more cores, or fewer samples at a time
builtin.module attributes {tile.machine = "tiny4"} {
  pim.program {
    %x = pim.input "x" shape <i64[4] [1, 32, 1, 2050]> : tensor<1x2050x32xf32>
    %rx = pim.rows pad 0, 0 slack 0 : memref<1x2050x32xf32> loc("big")
    pim.load %x : tensor<1x2050x32xf32> rows <i64[1, 3] [0, 1, 0]> into %rx : memref<1x2050x32xf32>
  }
}

// -----

// CHECK: error: node 'rows': core 2 reads row 1, which it never gets; mend the transfers
builtin.module attributes {tile.machine = "tiny4"} {
  pim.program {
    %x = pim.input "x" shape <i64[4] [1, 2, 2, 2]> : tensor<2x2x2xf32>
    %rx = pim.rows pad 0, 0 slack 0 : memref<2x2x2xf32> loc("rows")
    pim.load %x : tensor<2x2x2xf32> rows <i64[1, 3] [0, 2, 0]> into %rx : memref<2x2x2xf32>
    %ry = pim.rows pad 0, 0 slack 0 : memref<2x2x2xf32>
    pim.core_batch lanes 2 replicas 1 cores <i32[1] [2]> steps <i64[2] [0, 1]> ins(%rx : memref<2x2x2xf32>) windows [#spat.window<height 2, lanes 2>] constants() matrices() outs(%ry : memref<2x2x2xf32>) {
    ^bb0(%rows: memref<1x2x2xf32>, %out: memref<2x2xf32>):
      pim.end
    }
  }
}

// -----

// A row that comes after its reader.
// CHECK: error: node 'rows': core 2 reads row 0 before it gets it; mend the schedule
builtin.module attributes {tile.machine = "tiny4"} {
  pim.program {
    %x = pim.input "x" shape <i64[4] [1, 2, 1, 2]> : tensor<1x2x2xf32>
    %rx = pim.rows pad 0, 0 slack 0 : memref<1x2x2xf32> loc("rows")
    pim.load %x : tensor<1x2x2xf32> rows <i64[1, 3] [0, 2, 7]> into %rx : memref<1x2x2xf32>
    %ry = pim.rows pad 0, 0 slack 0 : memref<1x2x2xf32>
    pim.core_batch lanes 1 replicas 1 cores <i32[1] [2]> steps <i64[1] [0]> ins(%rx : memref<1x2x2xf32>) windows [#spat.window<height 1, lanes 1>] constants() matrices() outs(%ry : memref<1x2x2xf32>) {
    ^bb0(%rows: memref<1x2x2xf32>, %out: memref<2x2xf32>):
      pim.end
    }
  }
}

// -----

// CHECK: error: node 'layer': it is on core 4, and machine 'tiny4' has 4 cores, 0 to 3; lower it for this machine, or let tile.machine name the one that it is made for
builtin.module attributes {tile.machine = "tiny4"} {
  pim.program {
    %ry = pim.rows pad 0, 0 slack 0 : memref<1x2x2xf32>
    pim.core_batch lanes 1 replicas 1 cores <i32[1] [4]> steps <i64[1] [0]> ins() windows [] constants() matrices() outs(%ry : memref<1x2x2xf32>) {
    ^bb0(%out: memref<2x2xf32>):
      pim.end
    } loc("layer")
  }
}

// -----

// CHECK: error: core 1: lanes of node 'a' and node 'b' share step 3; schedule with spat-schedule-peft
builtin.module attributes {tile.machine = "tiny4"} {
  pim.program {
    %ry = pim.rows pad 0, 0 slack 0 : memref<1x2x2xf32>
    %rz = pim.rows pad 0, 0 slack 0 : memref<1x2x2xf32>
    pim.core_batch lanes 1 replicas 1 cores <i32[1] [1]> steps <i64[1] [0]> spans <i64[1] [4]> ins() windows [] constants() matrices() outs(%ry : memref<1x2x2xf32>) {
    ^bb0(%out: memref<2x2xf32>):
      pim.end
    } loc("a")
    pim.core_batch lanes 1 replicas 1 cores <i32[1] [1]> steps <i64[1] [3]> ins() windows [] constants() matrices() outs(%rz : memref<1x2x2xf32>) {
    ^bb0(%out: memref<2x2xf32>):
      pim.end
    } loc("b")
  }
}

// -----

// Rows that nobody brings.
// CHECK: error: {{.*}}pim-plan-memory-errors.mlir:{{[0-9]+}}:{{[0-9]+}}: core 2 reads row 0, which it never gets; mend the transfers
builtin.module attributes {tile.machine = "tiny4"} {
  pim.program {
    %rx = pim.rows pad 0, 0 slack 0 : memref<1x2x2xf32>
    %ry = pim.rows pad 0, 0 slack 0 : memref<1x2x2xf32>
    pim.core_batch lanes 1 replicas 1 cores <i32[1] [2]> steps <i64[1] [0]> ins(%rx : memref<1x2x2xf32>) windows [#spat.window<height 1, lanes 1>] constants() matrices() outs(%ry : memref<1x2x2xf32>) {
    ^bb0(%rows: memref<1x2x2xf32>, %out: memref<2x2xf32>):
      pim.end
    }
  }
}

// -----

// Two lanes of one batch, the second amid the first: they would work in the same tiles.
// CHECK: error: core 1: a lane of node 'a' interrupts another one, and both work in one place; schedule with spat-schedule-peft
builtin.module attributes {tile.machine = "tiny4"} {
  pim.program {
    %ry = pim.rows pad 0, 0 slack 0 : memref<2x2x2xf32>
    pim.core_batch lanes 2 replicas 1 cores <i32[1] [1]> steps <i64[2] [0, 100]> spans <i64[2] [1000, 400]> resumes <i64[1, 3] [0, 100, 500]> ins() windows [] constants() matrices() outs(%ry : memref<2x2x2xf32>) {
    ^bb0(%out: memref<2x2xf32>):
      %t = pim.alloc slack 0 : memref<2x2xf32>
      pim.end
    } loc("a")
  }
}

// -----

// A lane may run where another one stands still, and nowhere else.
// CHECK: error: core 1: lanes of node 'a' and node 'b' share step 99; schedule with spat-schedule-peft
builtin.module attributes {tile.machine = "tiny4"} {
  pim.program {
    %ry = pim.rows pad 0, 0 slack 0 : memref<1x2x2xf32>
    %rz = pim.rows pad 0, 0 slack 0 : memref<1x2x2xf32>
    pim.core_batch lanes 1 replicas 1 cores <i32[1] [1]> steps <i64[1] [0]> spans <i64[1] [1000]> resumes <i64[1, 3] [0, 100, 500]> ins() windows [] constants() matrices() outs(%ry : memref<1x2x2xf32>) {
    ^bb0(%out: memref<2x2xf32>):
      pim.end
    } loc("a")
    pim.core_batch lanes 1 replicas 1 cores <i32[1] [1]> steps <i64[1] [99]> spans <i64[1] [400]> ins() windows [] constants() matrices() outs(%rz : memref<1x2x2xf32>) {
    ^bb0(%out: memref<2x2xf32>):
      pim.end
    } loc("b")
  }
}

// -----

// CHECK: error: node 'a': core 1 loads a constant at step 8, and its first lane there is at step 7; load it at this step or before
builtin.module attributes {tile.machine = "tiny4"} {
  pim.program {
    %b = pim.constant <f32[1, 2] splat 1.0> : tensor<2x2xf32>
    %rb = pim.constant_rows %b : tensor<2x2xf32> -> memref<2x2xf32>
    %ry = pim.rows pad 0, 0 slack 0 : memref<1x2x2xf32>
    pim.core_batch lanes 1 replicas 1 cores <i32[1] [1]> steps <i64[1] [7]> fetches <i64[1, 3] [0, 1, 8]> ins() windows [] constants(%rb : memref<2x2xf32>) matrices() outs(%ry : memref<1x2x2xf32>) {
    ^bb0(%c: memref<2x2xf32>, %out: memref<2x2xf32>):
      pim.issue "vrelu" length 4 repeat 1 (%c : memref<2x2xf32>) [#pim.access<>] into %out : memref<2x2xf32> #pim.access<>
      pim.end
    } loc("a")
  }
}

// -----

// CHECK: error: node 'a': constant 1 is to be loaded, and there are 1; number them from 0
builtin.module attributes {tile.machine = "tiny4"} {
  pim.program {
    %b = pim.constant <f32[1, 2] splat 1.0> : tensor<2x2xf32>
    %rb = pim.constant_rows %b : tensor<2x2xf32> -> memref<2x2xf32>
    %ry = pim.rows pad 0, 0 slack 0 : memref<1x2x2xf32>
    pim.core_batch lanes 1 replicas 1 cores <i32[1] [1]> steps <i64[1] [7]> fetches <i64[1, 3] [1, 1, 0]> ins() windows [] constants(%rb : memref<2x2xf32>) matrices() outs(%ry : memref<1x2x2xf32>) {
    ^bb0(%c: memref<2x2xf32>, %out: memref<2x2xf32>):
      pim.issue "vrelu" length 4 repeat 1 (%c : memref<2x2xf32>) [#pim.access<>] into %out : memref<2x2xf32> #pim.access<>
      pim.end
    } loc("a")
  }
}

// -----

// CHECK: error: module: it holds an ONNX network that is not lowered; run convert-onnx-to-spat first
func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %y = onnx.Relu(%x) : (tensor<1x2xf32>) -> tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}

// -----

// CHECK: error: module: it holds no pim.program; run convert-spat-to-pim first
builtin.module attributes {tile.machine = "tiny4"} {
  func.func @main() {
    %x = spat.input "x" shape <i64[4] [1, 2, 1, 2]> : tensor<1x2x2xf32>
    func.return
  }
}
