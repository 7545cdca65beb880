"""What executes programs: packages on data (`functional`) and in time (`timing`), and networks of the `onnx`
dialect."""
