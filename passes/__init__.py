"""The passes, one module each, and what runs them: registry, pipelines, pass manager, verifier, guard."""
