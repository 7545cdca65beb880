// RUN: tile-opt %s -p canonicalize,dce --dump-pass-pipeline --quiet 2>&1 | filecheck %s --match-full-lines
// RUN: tile-opt %s --pass-pipeline='builtin.module(canonicalize,dce)' --dump-pass-pipeline --quiet 2>&1 | filecheck %s --match-full-lines
// CHECK: builtin.module(canonicalize,dce)
