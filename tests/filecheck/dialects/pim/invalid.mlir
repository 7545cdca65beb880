// RUN: tile-opt %s --split-input-file --verify-diagnostics --quiet

// Places
// expected-error@+1 {{'pim.input' expects parent op 'pim.program'}}
%x = pim.input "x" shape <i64[4] [1, 2, 2, 2]> : tensor<2x2x2xf32>

// -----

// Tensors in global memory
pim.program {
  // expected-error@+1 {{an input of 4 elements has 8 as tensor<2x2x2xf32>}}
  %x = pim.input "x" shape <i64[2] [1, 4]> : tensor<2x2x2xf32>
}

// -----

pim.program {
  %t = "test.op"() : () -> tensor<2x2x2xf32>
  // expected-error@+1 {{1 tensors with 0 lists of channels}}
  pim.output "y" shape <i64[4] [1, 2, 2, 2]> channels [] %t : tensor<2x2x2xf32>
}

// -----

pim.program {
  %t = "test.op"() : () -> tensor<2x2x2xf32>
  // expected-error@+1 {{the tensors do not hold each of 2 channels once}}
  pim.output "y" shape <i64[4] [1, 2, 2, 2]> channels [#tile.array<i32[2] [0, 2]>] %t : tensor<2x2x2xf32>
}

// -----

pim.program {
  // expected-error@+1 {{a constant of tensor<2x2xf32> does not repeat to tensor<4x2xf32>}}
  %c = pim.constant <f32[2, 2] splat 1.0> : tensor<4x2xf32>
}

// -----

pim.program {
  // expected-error@+1 {{a constant of tensor<1x2xi32> does not repeat to tensor<4x2xf32>}}
  %c = pim.constant <i32[1, 2] splat 1> : tensor<4x2xf32>
}

// -----

pim.program {
  // expected-error@+1 {{a matrix of tensor<2x2xf32> has result type tensor<2x3xf32>}}
  %c = pim.matrix <f32[2, 2] splat 1.0> : tensor<2x3xf32>
}

// -----

// Batches
pim.program {
  %t = "test.op"() : () -> tensor<2x2x2xf32>
  // expected-error@+1 {{a batch of 2 lanes with 3 replicas}}
  %y = pim.core_batch lanes 2 replicas 3 cores <i32[3] [0, 1, 2]> steps <i64[2] [0, 1]> ins(%t : tensor<2x2x2xf32>) windows [#spat.window<height 2, lanes 2>] constants() matrices() outs() -> tensor<2x2x2xf32> {
  ^bb0(%rows: tensor<1x2x2xf32>):
    %0 = pim.empty : tensor<2x2xf32>
    pim.yield %0 : tensor<2x2xf32>
  }
}

// -----

pim.program {
  %t = "test.op"() : () -> tensor<2x2x2xf32>
  // expected-error@+1 {{cores are tensor<2xi32>, an integer for each of 1 replicas expected}}
  %y = pim.core_batch lanes 2 replicas 1 cores <i32[2] [0, 1]> steps <i64[2] [0, 1]> ins(%t : tensor<2x2x2xf32>) windows [#spat.window<height 2, lanes 2>] constants() matrices() outs() -> tensor<2x2x2xf32> {
  ^bb0(%rows: tensor<1x2x2xf32>):
    %0 = pim.empty : tensor<2x2xf32>
    pim.yield %0 : tensor<2x2xf32>
  }
}

// -----

pim.program {
  %t = "test.op"() : () -> tensor<2x2x2xf32>
  // expected-error@+1 {{steps are tensor<3xi64>, an integer for each of 2 lanes expected}}
  %y = pim.core_batch lanes 2 replicas 1 cores <i32[1] [0]> steps <i64[3] [0, 1, 2]> ins(%t : tensor<2x2x2xf32>) windows [#spat.window<height 2, lanes 2>] constants() matrices() outs() -> tensor<2x2x2xf32> {
  ^bb0(%rows: tensor<1x2x2xf32>):
    %0 = pim.empty : tensor<2x2xf32>
    pim.yield %0 : tensor<2x2xf32>
  }
}

// -----

pim.program {
  %t = "test.op"() : () -> tensor<2x2x2xf32>
  // expected-error@+1 {{spans are tensor<1xi64>, an integer for each of 2 lanes expected}}
  %y = pim.core_batch lanes 2 replicas 1 cores <i32[1] [0]> steps <i64[2] [0, 3]> spans <i64[1] [3]> ins(%t : tensor<2x2x2xf32>) windows [#spat.window<height 2, lanes 2>] constants() matrices() outs() -> tensor<2x2x2xf32> {
  ^bb0(%rows: tensor<1x2x2xf32>):
    %0 = pim.empty : tensor<2x2xf32>
    pim.yield %0 : tensor<2x2xf32>
  }
}

// -----

pim.program {
  %t = "test.op"() : () -> tensor<2x2x2xf32>
  // expected-error@+1 {{spans are tensor<2xf32>, an integer for each of 2 lanes expected}}
  %y = pim.core_batch lanes 2 replicas 1 cores <i32[1] [0]> steps <i64[2] [0, 3]> spans <f32[2] splat 1.0> ins(%t : tensor<2x2x2xf32>) windows [#spat.window<height 2, lanes 2>] constants() matrices() outs() -> tensor<2x2x2xf32> {
  ^bb0(%rows: tensor<1x2x2xf32>):
    %0 = pim.empty : tensor<2x2xf32>
    pim.yield %0 : tensor<2x2xf32>
  }
}

// -----

pim.program {
  %t = "test.op"() : () -> tensor<2x2x2xf32>
  // expected-error@+1 {{a lane extends over less than one step}}
  %y = pim.core_batch lanes 2 replicas 1 cores <i32[1] [0]> steps <i64[2] [0, 3]> spans <i64[2] [3, 0]> ins(%t : tensor<2x2x2xf32>) windows [#spat.window<height 2, lanes 2>] constants() matrices() outs() -> tensor<2x2x2xf32> {
  ^bb0(%rows: tensor<1x2x2xf32>):
    %0 = pim.empty : tensor<2x2xf32>
    pim.yield %0 : tensor<2x2xf32>
  }
}

// -----

pim.program {
  %t = "test.op"() : () -> tensor<2x2x2xf32>
  // expected-error@+1 {{a step is negative}}
  %y = pim.core_batch lanes 2 replicas 1 cores <i32[1] [0]> steps <i64[2] [0, -1]> ins(%t : tensor<2x2x2xf32>) windows [#spat.window<height 2, lanes 2>] constants() matrices() outs() -> tensor<2x2x2xf32> {
  ^bb0(%rows: tensor<1x2x2xf32>):
    %0 = pim.empty : tensor<2x2xf32>
    pim.yield %0 : tensor<2x2xf32>
  }
}

// -----

pim.program {
  %t = "test.op"() : () -> tensor<2x2x2xf32>
  // expected-error@+1 {{1 inputs with 0 windows}}
  %y = pim.core_batch lanes 2 replicas 1 cores <i32[1] [0]> steps <i64[2] [0, 1]> ins(%t : tensor<2x2x2xf32>) windows [] constants() matrices() outs() -> tensor<2x2x2xf32> {
  ^bb0(%rows: tensor<1x2x2xf32>):
    %0 = pim.empty : tensor<2x2xf32>
    pim.yield %0 : tensor<2x2xf32>
  }
}

// -----

pim.program {
  %t = "test.op"() : () -> tensor<2x2x2xf32>
  // expected-error@+1 {{a window is a #spat.window or a table i64[2, 1], not 3 : i64}}
  %y = pim.core_batch lanes 2 replicas 1 cores <i32[1] [0]> steps <i64[2] [0, 1]> ins(%t : tensor<2x2x2xf32>) windows [3 : i64] constants() matrices() outs() -> tensor<2x2x2xf32> {
  ^bb0(%rows: tensor<1x2x2xf32>):
    %0 = pim.empty : tensor<2x2xf32>
    pim.yield %0 : tensor<2x2xf32>
  }
}

// -----

pim.program {
  %t = "test.op"() : () -> tensor<2x2x2xf32>
  // expected-error@+1 {{a window is a #spat.window or a table i64[2, 1], not #tile.array<i64[2] [0, 1]>}}
  %y = pim.core_batch lanes 2 replicas 1 cores <i32[1] [0]> steps <i64[2] [0, 1]> ins(%t : tensor<2x2x2xf32>) windows [#tile.array<i64[2] [0, 1]>] constants() matrices() outs() -> tensor<2x2x2xf32> {
  ^bb0(%rows: tensor<1x2x2xf32>):
    %0 = pim.empty : tensor<2x2xf32>
    pim.yield %0 : tensor<2x2xf32>
  }
}

// -----

pim.program {
  %t = "test.op"() : () -> tensor<2x2x2xf32>
  // expected-error@+1 {{the table of an input names a row outside its 2}}
  %y = pim.core_batch lanes 2 replicas 1 cores <i32[1] [0]> steps <i64[2] [0, 1]> ins(%t : tensor<2x2x2xf32>) windows [#tile.array<i64[2, 1] [0, 2]>] constants() matrices() outs() -> tensor<2x2x2xf32> {
  ^bb0(%rows: tensor<1x2x2xf32>):
    %0 = pim.empty : tensor<2x2xf32>
    pim.yield %0 : tensor<2x2xf32>
  }
}

// -----

pim.program {
  %t = "test.op"() : () -> tensor<2x2x2xf32>
  // expected-error@+1 {{2 rows in images of 3, 2 lanes in images of 2}}
  %y = pim.core_batch lanes 2 replicas 1 cores <i32[1] [0]> steps <i64[2] [0, 1]> ins(%t : tensor<2x2x2xf32>) windows [#spat.window<height 3, lanes 2>] constants() matrices() outs() -> tensor<2x2x2xf32> {
  ^bb0(%rows: tensor<1x2x2xf32>):
    %0 = pim.empty : tensor<2x2xf32>
    pim.yield %0 : tensor<2x2xf32>
  }
}

// -----

pim.program {
  %t = "test.op"() : () -> tensor<2x2x2xf32>
  // expected-error@+1 {{the body's arguments are (tensor<2x2xf32>), expected (tensor<1x2x2xf32>)}}
  %y = pim.core_batch lanes 2 replicas 1 cores <i32[1] [0]> steps <i64[2] [0, 1]> ins(%t : tensor<2x2x2xf32>) windows [#spat.window<height 2, lanes 2>] constants() matrices() outs() -> tensor<2x2x2xf32> {
  ^bb0(%rows: tensor<2x2xf32>):
    %0 = pim.empty : tensor<2x2xf32>
    pim.yield %0 : tensor<2x2xf32>
  }
}

// -----

pim.program {
  %t = "test.op"() : () -> tensor<2x2x2xf32>
  // expected-error@+1 {{a result of 3 rows in a batch of 2 lanes}}
  %y = pim.core_batch lanes 2 replicas 1 cores <i32[1] [0]> steps <i64[2] [0, 1]> ins(%t : tensor<2x2x2xf32>) windows [#spat.window<height 2, lanes 2>] constants() matrices() outs() -> tensor<3x2x2xf32> {
  ^bb0(%rows: tensor<1x2x2xf32>):
    %0 = pim.empty : tensor<2x2xf32>
    pim.yield %0 : tensor<2x2xf32>
  }
}

// -----

pim.program {
  %t = "test.op"() : () -> tensor<2x2x2xf32>
  // expected-error@+1 {{rows of shape [(2, 2)] do not make the results}}
  %y = pim.core_batch lanes 2 replicas 1 cores <i32[1] [0]> steps <i64[2] [0, 1]> ins(%t : tensor<2x2x2xf32>) windows [#spat.window<height 2, lanes 2>] constants() matrices() outs() -> tensor<2x2x3xf32> {
  ^bb0(%rows: tensor<1x2x2xf32>):
    %0 = pim.empty : tensor<2x2xf32>
    pim.yield %0 : tensor<2x2xf32>
  }
}

// -----

pim.program {
  %t = "test.op"() : () -> tensor<2x2x2xf32>
  // expected-error@+1 {{pim.alloc in a body of pim.empty, pim.issue, pim.yield}}
  %y = pim.core_batch lanes 2 replicas 1 cores <i32[1] [0]> steps <i64[2] [0, 1]> ins(%t : tensor<2x2x2xf32>) windows [#spat.window<height 2, lanes 2>] constants() matrices() outs() -> tensor<2x2x2xf32> {
  ^bb0(%rows: tensor<1x2x2xf32>):
    %1 = pim.alloc slack 0 : memref<2x2xf32>
    %0 = pim.empty : tensor<2x2xf32>
    pim.yield %0 : tensor<2x2xf32>
  }
}

// -----

pim.program {
  %b = "test.op"() : () -> memref<2x2x2xf32>
  // expected-error@+1 {{pim.empty in a body of pim.alloc, pim.issue, pim.end}}
  pim.core_batch lanes 2 replicas 1 cores <i32[1] [0]> steps <i64[2] [0, 1]> ins(%b : memref<2x2x2xf32>) windows [#spat.window<height 2, lanes 2>] constants() matrices() outs(%b : memref<2x2x2xf32>) {
  ^bb0(%rows: memref<1x2x2xf32>, %out: memref<2x2xf32>):
    %0 = pim.empty : tensor<2x2xf32>
    pim.end
  }
}

// -----

pim.program {
  %t = "test.op"() : () -> tensor<2x2x2xf32>
  // expected-error@+1 {{a batch on tensors has results, one on buffers has outs}}
  pim.core_batch lanes 2 replicas 1 cores <i32[1] [0]> steps <i64[2] [0, 1]> ins(%t : tensor<2x2x2xf32>) windows [#spat.window<height 2, lanes 2>] constants() matrices() outs() {
  ^bb0(%rows: tensor<1x2x2xf32>):
    pim.end
  }
}

// -----

pim.program {
  %t = "test.op"() : () -> tensor<2x2x2xf32>
  %b = "test.op"() : () -> memref<2x2x2xf32>
  // expected-error@+1 {{a batch on tensors has results, one on buffers has outs}}
  %y = pim.core_batch lanes 2 replicas 1 cores <i32[1] [0]> steps <i64[2] [0, 1]> ins(%t : tensor<2x2x2xf32>) windows [#spat.window<height 2, lanes 2>] constants() matrices() outs(%b : memref<2x2x2xf32>) -> tensor<2x2x2xf32> {
  ^bb0(%rows: tensor<1x2x2xf32>, %out: memref<2x2xf32>):
    %0 = pim.empty : tensor<2x2xf32>
    pim.yield %0 : tensor<2x2xf32>
  }
}

// -----

// Instructions
%d, %s, %r = "test.op"() : () -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2x3xf32>)
// expected-error@+1 {{unknown instruction 'vvpow'; one of mvmul, vvadd,}}
%0 = pim.issue "vvpow" length 3 repeat 1 (%s, %s : tensor<2x3xf32>, tensor<2x3xf32>) [#pim.access<>, #pim.access<>] into %d : tensor<2x3xf32> #pim.access<> -> tensor<2x3xf32>

// -----

%d, %s, %r = "test.op"() : () -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2x3xf32>)
// expected-error@+1 {{vvadd reads 2 vectors, 1 with 1 accesses given}}
%0 = pim.issue "vvadd" length 3 repeat 1 (%s : tensor<2x3xf32>) [#pim.access<>] into %d : tensor<2x3xf32> #pim.access<> -> tensor<2x3xf32>

// -----

%d, %s, %r = "test.op"() : () -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2x3xf32>)
// expected-error@+1 {{vrelu reads 1 vectors, 1 with 2 accesses given}}
%0 = pim.issue "vrelu" length 3 repeat 1 (%s : tensor<2x3xf32>) [#pim.access<>, #pim.access<>] into %d : tensor<2x3xf32> #pim.access<> -> tensor<2x3xf32>

// -----

%d, %s, %r = "test.op"() : () -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2x3xf32>)
// expected-error@+1 {{a matrix is given to mvmul, and to nothing else}}
%0 = pim.issue "mvmul" length 2 repeat 1 (%s : tensor<2x3xf32>) [#pim.access<>] into %d : tensor<2x3xf32> #pim.access<> -> tensor<2x3xf32>

// -----

%d, %s, %r = "test.op"() : () -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2x3xf32>)
// expected-error@+1 {{a matrix is given to mvmul, and to nothing else}}
%0 = pim.issue "vrelu" length 2 repeat 1 (%s : tensor<2x3xf32>) [#pim.access<>] matrix %s : tensor<2x3xf32> row 0 groups <i32[1] [0]> into %d : tensor<2x3xf32> #pim.access<> -> tensor<2x3xf32>

// -----

%d, %s, %r = "test.op"() : () -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2x3xf32>)
// expected-error@+1 {{length 0 and repeat 1 have to be positive}}
%0 = pim.issue "vrelu" length 0 repeat 1 (%s : tensor<2x3xf32>) [#pim.access<>] into %d : tensor<2x3xf32> #pim.access<> -> tensor<2x3xf32>

// -----

%d, %s, %r = "test.op"() : () -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2x3xf32>)
// expected-error@+1 {{length 3 and repeat 0 have to be positive}}
%0 = pim.issue "vrelu" length 3 repeat 0 (%s : tensor<2x3xf32>) [#pim.access<>] into %d : tensor<2x3xf32> #pim.access<> -> tensor<2x3xf32>

// -----

%d, %s, %r = "test.op"() : () -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2x3xf32>)
// expected-error@+1 {{repeat 4 cannot be shared out to 3 turns}}
%0 = pim.issue "vrelu" length 3 repeat 4 turns 3 (%s : tensor<2x3xf32>) [#pim.access<>] into %d : tensor<2x3xf32> #pim.access<> -> tensor<2x3xf32>

// -----

%d, %s, %r = "test.op"() : () -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2x3xf32>)
// expected-error@+1 {{an instruction on tensors has a result, one on buffers has none}}
pim.issue "vrelu" length 3 repeat 1 (%s : tensor<2x3xf32>) [#pim.access<>] into %d : tensor<2x3xf32> #pim.access<>

// -----

%m = "test.op"() : () -> memref<2x3xf32>
// expected-error@+1 {{an instruction on tensors has a result, one on buffers has none}}
%0 = pim.issue "vrelu" length 3 repeat 1 (%m : memref<2x3xf32>) [#pim.access<>] into %m : memref<2x3xf32> #pim.access<> -> tensor<2x3xf32>

// -----

%d, %s, %r = "test.op"() : () -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2x3xf32>)
// expected-error@+1 {{the result is tensor<3x2xf32>, the destination tensor<2x3xf32>}}
%0 = pim.issue "vrelu" length 3 repeat 1 (%s : tensor<2x3xf32>) [#pim.access<>] into %d : tensor<2x3xf32> #pim.access<> -> tensor<3x2xf32>

// -----

%d, %s, %r = "test.op"() : () -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2x3xf32>)
%m = "test.op"() : () -> memref<2x3xf32>
// expected-error@+1 {{an instruction on tensors reads tensors, one on buffers reads buffers}}
pim.issue "vrelu" length 3 repeat 1 (%s : tensor<2x3xf32>) [#pim.access<>] into %m : memref<2x3xf32> #pim.access<>

// -----

%d, %s, %r = "test.op"() : () -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2x3xf32>)
// expected-error@+1 {{vrelu reads elements 0 to 7 of 6}}
%0 = pim.issue "vrelu" length 7 repeat 1 (%s : tensor<2x3xf32>) [#pim.access<>] into %d : tensor<2x3xf32> #pim.access<> -> tensor<2x3xf32>

// -----

%d, %s, %r = "test.op"() : () -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2x3xf32>)
// expected-error@+1 {{vrelu reads elements 4 to 7 of 6}}
%0 = pim.issue "vrelu" length 3 repeat 1 (%s : tensor<2x3xf32>) [#pim.access<start 4>] into %d : tensor<2x3xf32> #pim.access<> -> tensor<2x3xf32>

// -----

%d, %s, %r = "test.op"() : () -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2x3xf32>)
// expected-error@+1 {{vrelu reads elements -3 to 3 of 6}}
%0 = pim.issue "vrelu" length 3 repeat 2 (%s : tensor<2x3xf32>) [#pim.access<step -3>] into %d : tensor<2x3xf32> #pim.access<> -> tensor<2x3xf32>

// -----

%d, %s, %r = "test.op"() : () -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2x3xf32>)
// expected-error@+1 {{vrelu writes elements 0 to 9 of 6}}
%0 = pim.issue "vrelu" length 3 repeat 3 (%r : tensor<3x2x3xf32>) [#pim.access<>] into %d : tensor<2x3xf32> #pim.access<step 3> -> tensor<2x3xf32>

// -----

%d, %s, %r = "test.op"() : () -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2x3xf32>)
// expected-error@+1 {{vrelu reads row 3 of 3}}
%0 = pim.issue "vrelu" length 3 repeat 1 (%r : tensor<3x2x3xf32>) [#pim.access<row 3>] into %d : tensor<2x3xf32> #pim.access<> -> tensor<2x3xf32>

// -----

%d, %s, %r = "test.op"() : () -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2x3xf32>)
// expected-error@+1 {{vvmax reads row 3 of 3}}
%0 = pim.issue "vvmax" length 3 repeat 3 (%d, %r : tensor<2x3xf32>, tensor<3x2x3xf32>) [#pim.access<>, #pim.access<row 1, row_step 1>] into %d : tensor<2x3xf32> #pim.access<> -> tensor<2x3xf32>

// -----

%d, %s, %r = "test.op"() : () -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2x3xf32>)
// expected-error@+1 {{vrelu writes row 1 of 1}}
%0 = pim.issue "vrelu" length 3 repeat 1 (%s : tensor<2x3xf32>) [#pim.access<>] into %d : tensor<2x3xf32> #pim.access<row 1> -> tensor<2x3xf32>

// -----

%d, %s, %r = "test.op"() : () -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2x3xf32>)
// expected-error@+1 {{mvmul takes weight rows 1 to 4 of 2}}
%0 = pim.issue "mvmul" length 3 repeat 1 (%s : tensor<2x3xf32>) [#pim.access<>] matrix %s : tensor<2x3xf32> row 1 groups <i32[1] [0]> into %d : tensor<2x3xf32> #pim.access<> -> tensor<2x3xf32>

// -----

%d, %s, %r = "test.op"() : () -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2x3xf32>)
// expected-error@+1 {{mvmul writes elements 4 to 7 of 6}}
%0 = pim.issue "mvmul" length 2 repeat 1 (%s : tensor<2x3xf32>) [#pim.access<>] matrix %s : tensor<2x3xf32> row 0 groups <i32[1] [0]> into %d : tensor<2x3xf32> #pim.access<start 4> -> tensor<2x3xf32>

// -----

// Loads and transfers
pim.program {
  %x = pim.input "x" shape <i64[4] [1, 2, 2, 2]> : tensor<2x2x2xf32>
  // expected-error@+1 {{a table i64[N, 3] of row, core, step expected}}
  %y = pim.load %x : tensor<2x2x2xf32> rows <i64[1, 2] [0, 5]> -> tensor<2x2x2xf32>
}

// -----

pim.program {
  %x = pim.input "x" shape <i64[4] [1, 2, 2, 2]> : tensor<2x2x2xf32>
  // expected-error@+1 {{the table names row 2 of 2}}
  %y = pim.load %x : tensor<2x2x2xf32> rows <i64[1, 3] [2, 5, 0]> -> tensor<2x2x2xf32>
}

// -----

pim.program {
  %x = pim.input "x" shape <i64[4] [1, 2, 2, 2]> : tensor<2x2x2xf32>
  // expected-error@+1 {{a core in the table is negative}}
  %y = pim.load %x : tensor<2x2x2xf32> rows <i64[1, 3] [0, -5, 0]> -> tensor<2x2x2xf32>
}

// -----

pim.program {
  %x = pim.input "x" shape <i64[4] [1, 2, 2, 2]> : tensor<2x2x2xf32>
  // expected-error@+1 {{a load on tensors has a result, one on buffers a destination}}
  pim.load %x : tensor<2x2x2xf32> rows <i64[1, 3] [0, 5, 0]>
}

// -----

pim.program {
  %x = pim.input "x" shape <i64[4] [1, 2, 2, 2]> : tensor<2x2x2xf32>
  %b = "test.op"() : () -> memref<2x2x2xf32>
  // expected-error@+1 {{a load on tensors has a result, one on buffers a destination}}
  %y = pim.load %x : tensor<2x2x2xf32> rows <i64[1, 3] [0, 5, 0]> into %b : memref<2x2x2xf32> -> tensor<2x2x2xf32>
}

// -----

pim.program {
  %x = pim.input "x" shape <i64[4] [1, 2, 2, 2]> : tensor<2x2x2xf32>
  // expected-error@+1 {{tensor<2x2x2xf32> is loaded as tensor<2x2x3xf32>}}
  %y = pim.load %x : tensor<2x2x2xf32> rows <i64[1, 3] [0, 5, 0]> -> tensor<2x2x3xf32>
}

// -----

pim.program {
  %t = "test.op"() : () -> tensor<2x2x2xf32>
  // expected-error@+1 {{a table i64[N, 4] of row, source, target, step expected}}
  %y = pim.transfer %t messages <i64[1, 3] [0, 5, 6]> : tensor<2x2x2xf32> -> tensor<2x2x2xf32>
}

// -----

pim.program {
  %t = "test.op"() : () -> tensor<2x2x2xf32>
  // expected-error@+1 {{a message from a core to itself}}
  %y = pim.transfer %t messages <i64[1, 4] [0, 5, 5, 0]> : tensor<2x2x2xf32> -> tensor<2x2x2xf32>
}

// -----

pim.program {
  %t = "test.op"() : () -> tensor<2x2x2xf32>
  // expected-error@+1 {{a transfer of tensors has a result, one of buffers has none}}
  pim.transfer %t messages <i64[1, 4] [0, 5, 6, 0]> : tensor<2x2x2xf32>
}

// -----

pim.program {
  %t = "test.op"() : () -> tensor<2x2x2xf32>
  // expected-error@+1 {{tensor<2x2x2xf32> is transferred as tensor<2x2x3xf32>}}
  %y = pim.transfer %t messages <i64[1, 4] [0, 5, 6, 0]> : tensor<2x2x2xf32> -> tensor<2x2x3xf32>
}

// -----

// Buffers
pim.program {
  // expected-error@+1 {{pads and slack may not be negative}}
  %0 = pim.rows pad -1, 0 slack 0 : memref<2x2x2xf32>
}

// -----

pim.program {
  // expected-error@+1 {{a table of core, row, address expected, not tensor<2x2xi64>}}
  %0 = pim.rows pad 0, 0 slack 0 at <i64[2, 2] [0, 0, 0, 1]> rings <i64[1, 4] [0, 0, 8, 0]> : memref<2x2x2xf32>
}

// -----

pim.program {
  %t = "test.op"() : () -> tensor<2x2xf32>
  // expected-error@+1 {{the source is no pim.constant}}
  %0 = pim.constant_rows %t : tensor<2x2xf32> -> memref<2x2xf32>
}

// -----

pim.program {
  %c = pim.constant <f32[2, 2] splat 1.0> : tensor<2x2xf32>
  // expected-error@+1 {{tensor<2x2xf32> is held as memref<2x3xf32>}}
  %0 = pim.constant_rows %c : tensor<2x2xf32> -> memref<2x3xf32>
}

// -----

pim.program {
  %c = pim.constant <f32[2, 2] splat 1.0> : tensor<2x2xf32>
  // expected-error@+1 {{a table of core, address, step expected, not tensor<1x2xi64>}}
  %0 = pim.constant_rows %c at <i64[1, 2] [0, 0]> : tensor<2x2xf32> -> memref<2x2xf32>
}

// -----

pim.program {
  %c = pim.constant <f32[2, 2] splat 1.0> : tensor<2x2xf32>
  // expected-error@+1 {{a table of core, address, step expected, not tensor<1x3xf32>}}
  %0 = pim.constant_rows %c at <f32[1, 3] splat 0.0> : tensor<2x2xf32> -> memref<2x2xf32>
}

// -----

// expected-error@+1 {{slack may not be negative}}
%0 = pim.alloc slack -1 : memref<2x2xf32>

// -----

// expected-error@+1 {{a table of core, address expected, not tensor<1x3xi64>}}
%0 = pim.alloc slack 0 at <i64[1, 3] [0, 0, 0]> : memref<2x2xf32>

// -----

// Text of attributes
// expected-error@+1 {{unknown field 'column' of an access}}
"test.op"() {a = #pim.access<column 3>} : () -> ()

// -----

// expected-error@+1 {{field 'row' of an access is given twice}}
"test.op"() {a = #pim.access<row 3, row 4>} : () -> ()

// -----

pim.program {
  // expected-error@+1 {{index is not an element type of a network's input or output}}
  %0 = pim.input "x" shape <i64[2] [1, 2]> as index : tensor<1x1x2xf32>
}
