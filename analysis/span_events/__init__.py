"""The loop of :func:`..critical_path.core_span`, in the small part of Python that can be compiled
(`support/llvm_text.py`)."""
