// RUN: not tile-opt %s --split-input-file 2>&1 | filecheck %s
// RUN: not tile-opt %s --split-input-file -o %t 2>&1 | filecheck %s --check-prefix=NOTHING
// RUN: not cat %t

// An error in one module does not keep the others from being processed, and is reported where it stands in the file.
// CHECK:      error: {{.*}}split-input-file.mlir:22:1: Operation func.nonsense is not registered
// NOTHING: error:
func.func @first() {
  func.return
}

// -----

func.func @second() {
  func.return
}

// -----

func.func @third() {
  func.nonsense
}
