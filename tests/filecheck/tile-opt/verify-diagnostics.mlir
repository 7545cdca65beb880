// RUN: tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py --verify-diagnostics --split-input-file --allow-unregistered-dialect -p test-reject --quiet

// expected-error@+1 {{'test.op' op is not wanted here}}
"test.op"() {test.error} : () -> ()

// -----

"test.op"() {test.error} : () -> () // expected-error {{not wanted}}

// -----

"test.op"() {test.error} : () -> ()
"test.op"() {test.error} : () -> ()
// expected-error@-2 {{not wanted}}
// expected-error@above {{not wanted}}

// -----

// expected-error@below {{not wanted}}
// expected-error-re@+1 {{'test.{{[a-z]+}}' op is}}
"test.op"() {test.error} : () -> () "test.op"() {test.error} : () -> ()

// -----

// expected-error@unknown {{not wanted}}
"test.op"() {test.error} : () -> () loc("node")

// -----

// A malformed text is an error like any other.
// expected-error@+1 {{}}
"test.op"( : () -> ()

// -----

// expected-error@+1 {{operand #0 does not dominate this use: it is the op's own result}}
%0 = "test.op"(%0) : (i32) -> i32
