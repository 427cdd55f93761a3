"""The search for the mode of the states of sequences, under an HDP-HMM."""
