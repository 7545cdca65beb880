// RUN: tile-opt --allow-unregistered-dialect %s | tile-opt --allow-unregistered-dialect | filecheck %s
// Two runs: what is printed is read back and printed the same.

// CHECK: value = #tile.array<f32[2, 3] [1.0, -0.0, 1.0e-07, inf, -inf, nan]>
"test.op"() {value = #tile.array<f32[2, 3] [1, -0.0, 1.0e-7, inf, -inf, nan]>} : () -> ()

// A NaN other than the canonical one keeps its bits.
// CHECK: value = #tile.array<f32[1] [0x7FC00001]>
"test.op"() {value = #tile.array<f32[1] [0x7FC00001]>} : () -> ()

// CHECK: value = #tile.array<f64[] [3.141592653589793]>
"test.op"() {value = #tile.array<f64[] [3.141592653589793]>} : () -> ()

// CHECK: value = #tile.array<i8[2] [-128, 127]>
"test.op"() {value = #tile.array<i8[2] [-128, 127]>} : () -> ()

// CHECK: value = #tile.array<u64[2] [0, 18446744073709551615]>
"test.op"() {value = #tile.array<u64[2] [0, 18446744073709551615]>} : () -> ()

// CHECK: value = #tile.array<i1[2] [true, false]>
"test.op"() {value = #tile.array<i1[2] [true, false]>} : () -> ()

// CHECK: value = #tile.array<i64[0] []>
"test.op"() {value = #tile.array<i64[0] []>} : () -> ()

// Equal elements print once, however many they are.
// CHECK: value = #tile.array<f32[64, 3, 7, 7] splat 0.02>
"test.op"() {value = #tile.array<f32[64, 3, 7, 7] splat 0.02>} : () -> ()

// Data that is not at hand stays a name.
// CHECK: value = #tile.array<f32[64, 3, 7, 7] @"0f5e0c38c21b3bd8c5f5bd4ad4b6a5bd">
"test.op"() {value = #tile.array<f32[64, 3, 7, 7] @"0f5e0c38c21b3bd8c5f5bd4ad4b6a5bd">} : () -> ()
