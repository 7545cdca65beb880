"""What all parts share: errors, files, threads, and machine code for loops."""
