"""The loops of :class:`..dumb_schedules.DumbOrders`, in the small part of Python that can be compiled
(`support/llvm_text.py`)."""
