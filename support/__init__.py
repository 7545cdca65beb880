"""Diagnostics and file helpers that every part shares."""
