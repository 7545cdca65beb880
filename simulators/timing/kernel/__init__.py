"""The event loop: cores, units, switches and memories in simulated time.

Written in a small part of Python, over flat lists of numbers, that :mod:`..compiled` can compile: whole numbers,
``if``, ``while``, ``for`` over a range, and calls of one another.

``layout``: the program and the state; ``loop``: one instant after another; ``heaps``: what is to come; ``front_end``:
a core's edge; ``units``: what units do between edges; ``network``: switches and messages; ``registers``: decode, for
programs whose registers have to be followed; ``spending``: where the time goes.
"""
