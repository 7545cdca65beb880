// RUN: not tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py --verify-diagnostics --split-input-file --allow-unregistered-dialect -p test-reject --quiet 2>&1 | filecheck %s

// CHECK:      error: {{.*}}:6:1: unexpected error: 'test.op' op is not wanted here
// CHECK-NEXT: error: {{.*}}:5:4: expected error 'nothing' was not produced
// expected-error@+1 {{nothing}}
"test.op"() {test.error} : () -> ()

// -----

// CHECK-NEXT: error: {{.*}}:13:1: unexpected error:
// CHECK-NEXT: error: {{.*}}:12:4: expected warning 'not wanted' was not produced
// expected-warning@+1 {{not wanted}}
"test.op"() {test.error} : () -> ()

// -----

// CHECK-NEXT: error: {{.*}}:18:1: malformed directive
// expected-error@2 {not wanted}

// -----

// CHECK-NEXT: error: {{.*}}:23:4: invalid regular expression
// expected-error-re {{ {{(}} }}
