"""The loops of :class:`..list_schedule.LaneOrders`, in the small part of Python that can be compiled
(`support/llvm_text.py`)."""
