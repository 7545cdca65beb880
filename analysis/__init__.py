"""Plain-numpy cost model and planners. Nothing here imports the IR."""
