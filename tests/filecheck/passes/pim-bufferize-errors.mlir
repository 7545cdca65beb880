// RUN: not tile-opt %s -p pim-bufferize --split-input-file 2>&1 | filecheck %s

// CHECK: error: module: no target machine is named
pim.program {
  %x = pim.input "x" shape <i64[2] [1, 2]> : tensor<1x1x2xf32>
}

// -----

// CHECK: error: output 'x': tensor<2x2x2xf32> is in no local memory, from where it could be stored; copy it in a pim.core_batch
builtin.module attributes {tile.machine = "tiny4"} {
  pim.program {
    %x = pim.input "x" shape <i64[4] [1, 2, 2, 2]> : tensor<2x2x2xf32>
    pim.output "x" shape <i64[4] [1, 2, 2, 2]> channels [#tile.array<i32[2] [0, 1]>] %x : tensor<2x2x2xf32>
  }
}

// -----

// CHECK: error: node 'layer': it reads an input that no core loads; add a pim.load
builtin.module attributes {tile.machine = "tiny4"} {
  pim.program {
    %x = pim.input "x" shape <i64[4] [1, 2, 1, 2]> : tensor<1x2x2xf32>
    %y = pim.core_batch lanes 1 replicas 1 cores <i32[1] [0]> steps <i64[1] [0]> ins(%x : tensor<1x2x2xf32>) windows [#spat.window<height 1, lanes 1>] constants() matrices() outs() -> tensor<1x2x2xf32> {
    ^bb0(%r: tensor<1x2x2xf32>):
      %0 = pim.empty : tensor<2x2xf32>
      pim.yield %0 : tensor<2x2xf32>
    } loc("layer")
  }
}

// -----

// CHECK: error: node 'layer': it is on buffers already
builtin.module attributes {tile.machine = "tiny4"} {
  pim.program {
    %x = pim.rows pad 0, 0 slack 0 : memref<1x2x2xf32> loc("layer")
    pim.core_batch lanes 1 replicas 1 cores <i32[1] [0]> steps <i64[1] [0]> ins() windows [] constants() matrices() outs(%x : memref<1x2x2xf32>) {
    ^bb0(%out: memref<2x2xf32>):
      pim.end
    } loc("layer")
  }
}

// -----

// CHECK: error: module: it holds an ONNX network that is not lowered; run convert-onnx-to-spat first
func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %y = onnx.Relu(%x) : (tensor<1x2xf32>) -> tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}

// -----

// CHECK: error: module: it holds no pim.program; run convert-spat-to-pim first
builtin.module attributes {tile.machine = "tiny4"} {
  func.func @main() {
    %x = spat.input "x" shape <i64[4] [1, 2, 1, 2]> : tensor<1x2x2xf32>
    func.return
  }
}
