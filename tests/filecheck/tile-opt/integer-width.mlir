// RUN: tile-opt %s --verify-diagnostics

// expected-error @+1 {{an integer type of 4294967296 bits; at most 16777215 are allowed}}
"test.op"() : () -> i4294967296
