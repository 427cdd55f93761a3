"""The search for the mode: one move in each file. No move lowers the log joint."""
