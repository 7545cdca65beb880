"""Which parts of a chip take energy at all, by what its machine file says."""

from __future__ import annotations

from ...analysis.machine import Machine

_MATRIX = (
    "dac_dynamic_power",
    "xbar_read_power",
    "sample_hold_dynamic_power",
    "adc_dynamic_power",
    "shift_adder_dynamic_power",
    "output_buffer_dynamic_power",
)
_VECTOR = ("vector_alu_dynamic_energy", "vector_reg_read_dynamic_energy", "vector_reg_write_dynamic_energy")
_MEMORY = ("read_dynamic_energy", "write_dynamic_energy")
FRONT_END_POWERS = (
    "inst_fetch_dynamic_power",
    "inst_decode_dynamic_power",
    "inst_decode_offset_dynamic_power",
    "reg_file_read_dynamic_power",
    "reg_file_write_dynamic_power",
    "scalar_dynamic_power",
)


def parts_without_energy(machine: Machine) -> list[str]:
    """The parts, as the fields of `Energy` call them, whose every energy and power is 0 in the machine file, or not
    given there, which is the same. Static energy is none: what is not given is not 0."""
    chip = machine.architecture.chip_config
    core = chip.core_config
    records = {
        "matrix": (core.matrix_config, _MATRIX),
        "vector": (core, _VECTOR),
        "local memory": (core.local_memory_config, _MEMORY),
        "global memory": (chip.global_memory_config, _MEMORY),
        "front end": (core, FRONT_END_POWERS),
    }
    found = [part for part, (record, names) in records.items() if not any(getattr(record, one) for one in names)]
    if not machine.network.energy_pj.any():
        found.append("network")
    return found
