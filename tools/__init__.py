"""The command-line tools, one thin module each."""
