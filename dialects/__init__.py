"""The dialects of the compiler, one module each."""
