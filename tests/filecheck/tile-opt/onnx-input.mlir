// RUN: tile-opt %S/../../../examples/digits_cnn.onnx -p onnx-simplify | filecheck %s
// RUN: tile-opt - -p onnx-simplify < %S/../../../examples/digits_cnn.onnx | filecheck %s
// CHECK: func.func @main(
// CHECK: onnx.Conv(

// RUN: not tile-opt %S/../../../examples/digits_cnn.onnx --split-input-file 2>&1 | filecheck %s --check-prefix=SPLIT
// SPLIT: error: --split-input-file: '{{.*}}digits_cnn.onnx' is no text; remove the option

// RUN: not tile-opt %S/../../../examples/digits_cnn.onnx --verify-diagnostics 2>&1 | filecheck %s --check-prefix=DIAGNOSTICS
// DIAGNOSTICS: error: --verify-diagnostics: '{{.*}}digits_cnn.onnx' is no text; remove the option

// RUN: not tile-opt %S/../../../examples/digits_cnn.onnx --dim=nonsense=3 2>&1 | filecheck %s --check-prefix=DIM
// DIM: error: {{.*}}nonsense

// The default pipeline goes through to the end, on text as in one go.
// RUN: tile-opt %S/../../../examples/digits_cnn.onnx -p 'tile-default{machine=reference144}' -o %t.whole
// RUN: tile-opt %S/../../../examples/digits_cnn.onnx -p 'onnx-simplify,convert-onnx-to-spat,spat-merge-graph' --elide-larger-than=1000000000 -o %t.mlir
// RUN: tile-opt %t.mlir -p 'spat-merge-trivial,spat-schedule-peft,spat-materialize-schedule,spat-defer-communication,spat-realize-communication,convert-spat-to-pim,pim-bufferize,pim-plan-memory' -o %t.parts
// RUN: bash -c 'diff %t.whole %t.parts'
