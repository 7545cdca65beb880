"""The command-line tools: a thin module each (`tile_*.py`), with their options, drivers and reports beside it."""
