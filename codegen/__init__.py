"""From scheduled, addressed IR to instruction columns and packages."""
