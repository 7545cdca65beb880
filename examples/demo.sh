#!/usr/bin/env bash
# Compiles a trained digit classifier for a chip of 144 cores and lets a simulation of the chip read 200 digits.
# Needs the tile commands on the PATH; `make demo` sees to that.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
out="${1:-out/mnist_resnet8}"

echo "== compile examples/mnist_resnet8.onnx"
tile-compile "$here/mnist_resnet8.onnx" -o "$out"
echo
echo "== run 200 handwritten digits on the simulated chip, and compare with onnxruntime"
tile-run "$out" --input "$here/mnist_test200.npz:x" --batch --labels "$here/mnist_test200.npz:y" \
    --check --model "$here/mnist_resnet8.onnx"
echo
echo "== the package is in $out: manifest.json (what it is, per-core statistics), program.json.gz (the instruction"
echo "   streams, for pimsim-nn), program.bin and weights.npz (for tile-run), report/"
