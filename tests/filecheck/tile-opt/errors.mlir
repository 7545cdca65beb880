// RUN: not tile-opt %t.none 2>&1 | filecheck %s --check-prefix=NOFILE
// NOFILE: error: {{.*}}.none: cannot be read: no such file or directory

// RUN: not tile-opt %S 2>&1 | filecheck %s --check-prefix=FOLDER
// FOLDER: error: {{.*}}: cannot be read: is a directory

// RUN: not tile-opt %s -o %t.none/x.mlir 2>&1 | filecheck %s --check-prefix=NODIR
// NODIR: error: {{.*}}.none/x.mlir: cannot be written: there is no directory '{{.*}}.none'; make it first

// RUN: not tile-opt %s --versoin 2>&1 | filecheck %s --check-prefix=OPTION
// OPTION: error: tile-opt: unknown option '--versoin'; did you mean '--version'?

// RUN: not tile-opt %s more.mlir 2>&1 | filecheck %s --check-prefix=EXTRA
// EXTRA: error: tile-opt: unexpected argument 'more.mlir'; see --help

// RUN: not tile-opt %s --timing=perhaps 2>&1 | filecheck %s --check-prefix=FLAG
// FLAG: error: --timing: takes 'true' or 'false', not 'perhaps'

// RUN: not tile-opt %s -o 2>&1 | filecheck %s --check-prefix=ARGUMENT
// ARGUMENT: error: tile-opt: argument -o: expected one argument; see --help

// RUN: not tile-opt %s --dim=batch=0 2>&1 | filecheck %s --check-prefix=DIM
// DIM: error: tile-opt: argument --dim: expected NAME=N with a positive N, not 'batch=0'; see --help

// RUN: not tile-opt %s --dim=batch=1 2>&1 | filecheck %s --check-prefix=TEXTDIM
// TEXTDIM: error: --dim: '{{.*}}errors.mlir' is not an ONNX model; remove the option

// RUN: not tile-opt %s --load-pass-plugin=%s 2>&1 | filecheck %s --check-prefix=PLUGIN
// PLUGIN: error: --load-pass-plugin: '{{.*}}errors.mlir' is no Python file
