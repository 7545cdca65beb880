"""The benchmark: what compiled networks cost on the machine, and what compiling costs. `python -m bench --help`."""
