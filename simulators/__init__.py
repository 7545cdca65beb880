"""Simulators that execute the instruction columns of a package."""
