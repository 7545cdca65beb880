"""The event loop of the lane scheduler, in the small part of Python that can be compiled (`support/llvm_text.py`)."""
