"""The generated pages of the reference are those that the code generates now."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_reference_is_up_to_date() -> None:
    spec = spec_from_file_location("generate_reference", DOCS / "generate_reference.py")
    assert spec is not None
    assert spec.loader is not None
    generator = module_from_spec(spec)
    spec.loader.exec_module(generator)
    for name, text in generator.pages().items():
        assert (DOCS / name).read_text(encoding="utf-8") == text, f"docs/{name} is stale: run `make docs`"
