"""The lowering of the `onnx` dialect to compute batches: `convert.py` drives it, one module per family of layers."""
