"""One module per pass."""
