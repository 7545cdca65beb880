// RUN: tile-opt %s --verify-diagnostics --split-input-file --quiet

// expected-error@+1 {{Operation unknown.op is not registered}}
"unknown.op"() : () -> ()

// -----

func.func @f() -> i32 {
  // expected-error@below {{values used but not defined: [%missing]}}
  func.return %missing : i32
}

// -----

func.func @f(%a: i32 i32) { // expected-error {{')' expected}}
}

// -----

// expected-error@+1 {{'func.func' op property 'sym_name' expected}}
"func.func"() ({}) {function_type = 1 : i32} : () -> ()
