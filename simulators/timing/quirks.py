"""The peculiarities of the simulator that is reproduced, each under a name. See ``docs/timing.md``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Quirks:
    """What the pimsim-nn simulator does and a machine, or its instruction set's document, would not.

    The defaults are the simulator's behaviour. A flag that is off gives what one would expect instead.
    """

    eightfold_array_read: bool = True
    """``mvmul`` reads its input vector eight times over."""
    conversions_round_down: bool = True
    """Passes through the converters are counted with a division that rounds down."""
    vector_time_in_ns: bool = True
    """The vector unit computes for ``vector_latency_cycle`` nanoseconds a beat, whatever the clock's period."""
    full_length_results: bool = True
    """``vvdmul`` and ``vavg`` write ``len`` elements although their result is one."""
    free_load_reply: bool = True
    """The data of ``ld`` comes back over the network in no time."""
    whole_nanosecond_flights: bool = True
    """The time of a message on the network is cut to whole nanoseconds."""
    request_holds_switch: bool = True
    """A request to send occupies the sender's switch for one more nanosecond after it has arrived."""
    late_short_steps: bool = True
    """A last step of no time ends one edge late; one of exactly one period does, too, if the clock started it."""
    younger_unit_first: bool = True
    """Of a matrix and a vector or transfer instruction that start on one edge, the younger gets the memory first."""
    closed_ranges: bool = True
    """Address ranges include their end, so that touching buffers conflict."""
    unseen_write_after_write: bool = True
    """Two instructions that write the same bytes do not conflict."""
    wrong_ranges: bool = True
    """``vmv`` has no address ranges, ``lldi`` one byte, ``vavg`` one result, ``vrsu`` and ``vrsl`` a second operand at
    the address of their bound; ``vrelu`` writes at the output width; global addresses leave the local one 0."""
    misread_offsets: bool = True
    """Offsets of rs1 and rs2 are switched on by bits of the offset itself, not of ``offset_select``."""
    scalars_repeat: bool = True
    """A scalar instruction executes again every cycle while it is held up at decode, be it to the end."""
    unfinished_scalar_end: bool = True
    """A core whose last instruction is scalar never finishes."""
    last_instant_lost: bool = True
    """What would happen exactly at the end of the simulated time does not."""
    energy_per_evaluation: bool = True
    """Decode and register file take energy whenever the simulator evaluates them, not once an instruction that
    leaves decode."""
    heap_order: bool = True
    """Simultaneous events happen in the order in which they leave the simulator's heap, which has no rule for ties:
    cores that run in step get clocks that are artefacts, and the result depends a little on ``sim_time_ns`` (by default
    what the machine file says). Off: in the order in which they were scheduled."""


SIMULATOR = Quirks()
"""As the real simulator."""

FIRST_COME = Quirks(heap_order=False)
"""As the real simulator if its heap had a rule for ties: first come, first served."""
