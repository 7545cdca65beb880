// RUN: tile-compile %s -o %t.out --machine tiny4 -q --build-report %t.json
// RUN: tile-report show %t.out | filecheck %s
// RUN: tile-report show %t.json | filecheck %s --check-prefix=BUILD
// RUN: tile-report show %t.out --idle | filecheck %s --check-prefix=IDLE
// RUN: not tile-report show %t.json --idle 2>&1 | filecheck %s --check-prefix=REPORT

func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %w = onnx.Constant #tile.array<f32[2, 2] [1.0, 2.0, 3.0, 4.0]>
  %y = onnx.MatMul(%x, %w) : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %z = onnx.Relu(%y) : (tensor<1x2xf32>) -> tensor<1x2xf32>
  func.return %z : tensor<1x2xf32>
}

// Stages first, each with its IR; then the package, counted on its streams.
// CHECK: package sha256 {{[0-9a-f]+}}
// CHECK-NEXT: machine and precision: tiny4 8/8/8 {{[0-9a-f]+}}
// CHECK-NEXT: inputs and outputs: input input0 float32 [1, 2]; output output0 float32 [1, 2]
// CHECK-NOT: idle
// CHECK: stage {{ *}}level {{ *}}IR ops
// CHECK: onnx-simplify {{ *}}onnx
// CHECK: pim-plan-memory {{ *}}pim buffers
// CHECK: package {{ *}}package
// CHECK: == package
// CHECK: - critical path in cycles, with transfers {{ *[0-9]+}}
// CHECK-NEXT: - latency in cycles, by the clock {{ *[0-9]+}}
// CHECK: - matrix products {{ *}}1
// CHECK: - vector instructions {{ *}}1
// CHECK: - ops that compute what is there already {{ *}}0
// CHECK: - copies from host to device {{ *}}1
// CHECK-NEXT: - bytes from host to device {{ *}}2
// CHECK: - weights in arrays {{ *}}4
// CHECK: instructions by kind
// CHECK: - mvmul {{ *}}1

// BUILD: compiler wall time in s: {{[0-9.]+}}
// BUILD: compiler peak RSS in bytes: {{[0-9.e+]+}}
// BUILD: == package
// BUILD-NOT: by the clock

// IDLE: latency {{[0-9]+}} ns; 1 cores, 0.0 % idle; 3 more without instructions
// IDLE: idle because a core
// IDLE: the time of each core in %, the idlest first
// IDLE: 0 {{.*}}

// REPORT: error: {{.*}}.json: is not a package, so that it cannot be timed; give a package
