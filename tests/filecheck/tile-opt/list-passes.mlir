// RUN: tile-opt --load-pass-plugin=%S/inputs/passes_for_tests.py --list-passes | filecheck %s
// CHECK:      {{^}}canonicalize
// CHECK-NEXT:   Applies all canonicalization patterns.
// CHECK:      test-nothing
// CHECK-NEXT:   Changes nothing.
// CHECK-EMPTY:
// CHECK-NEXT:   It has an option of every type.
// CHECK-NEXT:     count: an integer; default 1
// CHECK-NEXT:       How often nothing is changed.
// CHECK-NEXT:     ratio: a number; default 0.5
// CHECK:          level: one of 'low', 'high'; default low
// CHECK:      test-needy
// CHECK-NEXT:   Has an option that must be given.
// CHECK-NEXT:     machine-name: a string; must be given
// CHECK:      tile-default
// CHECK-NEXT:   a pipeline: onnx-simplify,

// RUN: tile-opt --show-dialects | filecheck %s --check-prefix=DIALECTS
// DIALECTS: arith
// DIALECTS: onnx
// DIALECTS: pim
// DIALECTS: spat
// DIALECTS: tile
