// RUN: tile-opt %s --verify-diagnostics --split-input-file --allow-unregistered-dialect --quiet

// expected-error@+1 {{unknown element type 'f33' of an array; one of f64, f32}}
"test.op"() {value = #tile.array<f33[1] [1.0]>} : () -> ()

// -----

// expected-error@+1 {{128 does not fit into i8}}
"test.op"() {value = #tile.array<i8[1] [128]>} : () -> ()

// -----

// expected-error@+1 {{array of shape [2] has 2 elements, 3 given}}
"test.op"() {value = #tile.array<f32[2] [1.0, 2.0, 3.0]>} : () -> ()

// -----

// expected-error@+1 {{a splat of 99999999999999 elements is larger than 2147483648 bytes}}
"test.op"() {value = #tile.array<f32[99999999999999] splat 0.0>} : () -> ()
