"""The lowering of scheduled `spat` to `pim` on tensors: bodies to instructions, tables to loads and transfers."""
