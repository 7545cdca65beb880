// RUN: tile-opt %s | filecheck %s
// A file without ops is an empty module.
// CHECK:      builtin.module {
// CHECK-NEXT: }
