"""The search for the mode: one move a file, each raising the log joint or leaving it."""
