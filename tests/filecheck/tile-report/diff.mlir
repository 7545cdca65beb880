// RUN: tile-compile %s -o %t.before --machine tiny4 -q --build-report %t.before.json
// RUN: tile-compile %S/inputs/twice.mlir -o %t.after --machine tiny4 -q --build-report %t.after.json
// RUN: tile-report diff %t.before %t.before --check | filecheck %s --check-prefix=SAME
// RUN: not tile-report diff %t.before %t.after --check | filecheck %s
// RUN: not tile-report diff %t.before.json %t.after.json --json | filecheck %s --check-prefix=JSON
// RUN: not tile-report diff %t.before %t.before --complete 2>&1 | filecheck %s --check-prefix=COMPLETE
// RUN: tile-report diff %t.before.json %t.before.json --all | filecheck %s --check-prefix=ALL

func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %w = onnx.Constant #tile.array<f32[2, 2] [1.0, 2.0, 3.0, 4.0]>
  %y = onnx.MatMul(%x, %w) : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %z = onnx.Tanh(%y) : (tensor<1x2xf32>) -> tensor<1x2xf32>
  func.return %z : tensor<1x2xf32>
}

// SAME: item {{ *}}before {{ *}}after {{ *}}verdict {{ *}}stage
// SAME: - compiler wall time in s {{ *}}not recorded {{ *}}not recorded {{ *}}not recorded
// SAME: - vector instructions {{ *}}1 {{ *}}1 {{ *}}equal {{ *}}package
// SAME: - greatest error {{ *}}0 (ok) {{ *}}0 (ok) {{ *}}equal {{ *}}against the package before, random inputs 0
// SAME: onnx-simplify {{.*}} equal
// SAME: not recorded: compiler wall time in s, compiler CPU time in s, compiler peak RSS in bytes
// SAME-NEXT: nothing is worse

// The input stage changes first, and the numbers of the final package are worse.
// CHECK: - latency in cycles, by the clock {{.*}} WORSE {{ *}}package
// CHECK: - matrix products {{ *}}1 {{ *}}1 {{ *}}equal {{ *}}package
// CHECK: - vector instructions {{ *}}1 {{ *}}2 {{ *}}WORSE {{ *}}package
// CHECK: - messages sent {{ *}}0 {{ *}}0 {{ *}}equal
// CHECK: - greatest error {{.*}} WORSE {{ *}}against the package before
// CHECK: input {{.*}} worse
// CHECK: worse: greatest error: 0 (ok) -> {{.*}} (TOO LARGE) (WORSE)
// CHECK: worse: input: {{.*}}
// CHECK: {{[0-9]+}} worse

// JSON: "item": "vector_count"
// JSON-NEXT: "title": "vector instructions"
// JSON-NEXT: "before": 1,
// JSON-NEXT: "after": 2,
// JSON-NEXT: "verdict": "worse",
// JSON-NEXT: "fails": true,
// JSON-NEXT: "stage": "package"
// JSON: "failures": [

// COMPLETE: worse: compiler wall time in s: not recorded -> not recorded (not recorded)
// COMPLETE: worse: greatest error: not recorded -> not recorded (not recorded)
// COMPLETE: 4 worse

// ALL: == convert-onnx-to-spat
// ALL: equal {{ *}}graph_lanes 1 -> 1
// ALL: nothing is worse
