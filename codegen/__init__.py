"""From scheduled IR with addresses to instruction columns and packages, and the checks of both."""
