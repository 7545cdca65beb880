"""Lowerings between dialects, as functions that the conversion passes call."""
